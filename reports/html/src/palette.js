// One palette for all charts. Hues are near those of Okabe and Ito (2008), darkened or lightened for the paper they lie on.
// The parts of a step differ by 18 or more (CIE 1976) as those without one kind of cone see them, and so do the classes of
// memory, in lightness where not in hue; of the strategies some pairs do not: they have shapes too. What is done again is
// orange and what is copied blue, wherever it is shown.

export const LIGHT = {
  paper: '#ffffff', ink: '#15202b', soft: '#5a6872', line: '#d5dbdf', faint: '#edf0f2', accent: '#0b5c8a', bad: '#a3341f',
  compute: '#66788a', recompute: '#e09a1a', out: '#1f78b4', in: '#74b3e3', host: '#5a2a6b', other: '#c3ccd2',
  keep: '#66788a', swap: '#1f78b4',
  parameter: '#171f2a', parameter_gradient: '#5d697d', optimizer_state: '#9dabbe', feature_map: '#10855a',
  gradient: '#f5a541', workspace: '#d92cd4', transient: '#76ca9a', input: '#846d0f', auxiliary: '#6d2515', bytes: '#10855a',
};
export const DARK = {
  paper: '#12181d', ink: '#e6ebee', soft: '#9aa8b2', line: '#32404a', faint: '#1b242b', accent: '#6cc0f0', bad: '#f08d74',
  compute: '#8295a5', recompute: '#f0b03c', out: '#4ba3e0', in: '#a5d3f5', host: '#7a4a90', other: '#46545e',
  keep: '#8295a5', swap: '#4ba3e0',
  parameter: '#cad5e3', parameter_gradient: '#8594a1', optimizer_state: '#445872', feature_map: '#259560',
  gradient: '#eba44e', workspace: '#da41d9', transient: '#87e0ad', input: '#e7da10', auxiliary: '#a12e1d', bytes: '#259560',
};
const STRATEGIES_LIGHT = ['#15202b', '#1f78b4', '#d55e00', '#1b8a6b', '#b3589a', '#a8740a', '#5b6abf', '#7a2f2f', '#4d7c0f', '#0e7490'];
const STRATEGIES_DARK = ['#e6ebee', '#5fb1ea', '#ff8c42', '#35c79d', '#e08cc5', '#e9b949', '#97a3f0', '#d98a8a', '#a3d15b', '#4fc4dc'];
/** Shapes go with the colours, so that lines are told apart without them. */
const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond', 'emptyCircle', 'emptyRect', 'emptyTriangle', 'emptyDiamond', 'pin', 'arrow'];
/** Of more than ten those that share a colour differ in their shape. */
const shapeIndex = (index) => (index + Math.floor(index / 10)) % 10;
/** How a chart marks the points of one of several: shape, and colour all over or, on paper, around it. */
export function marked(index, opacity = 1) {
  const name = SYMBOLS[shapeIndex(index)], color = strategyColour(index), hollow = name.startsWith('empty');
  return { symbol: name.replace('empty', '').toLowerCase(), itemStyle: hollow ? { color: colours().paper, borderColor: color, borderWidth: 2, opacity } : { color, opacity } };
}
/** The same in a legend: attributes of an <i>. */
export const marking = (index) => ({ class: `mark shape-${shapeIndex(index)}`, style: `--c:var(--s${index % 10})` });
export const DASHES = ['solid', 'solid', 'solid', 'solid', 'dashed', 'dashed', 'dashed', 'dashed', 'dotted', 'dotted'];

export const isDark = () => document.documentElement.dataset.theme === 'dark';
export const colours = () => (isDark() ? DARK : LIGHT);
export const strategyColour = (index) => (isDark() ? STRATEGIES_DARK : STRATEGIES_LIGHT)[index % 10];

/** Follows the system until the switch is used; what was chosen is kept where the browser lets a file keep anything. */
export function initTheme(onChange) {
  const system = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  try { chosen = localStorage.getItem('spillway-theme'); } catch { /* a file may not */ }
  const apply = () => {
    document.documentElement.dataset.theme = chosen ?? (system.matches ? 'dark' : 'light');
    onChange();
  };
  system.addEventListener('change', apply);
  apply();
  return () => {
    chosen = isDark() ? 'light' : 'dark';
    try { localStorage.setItem('spillway-theme', chosen); } catch { /* likewise */ }
    apply();
  };
}
