// Strategies side by side: what a step's time is made up of.
import { alongByKeys, axis, chart, hatch, onChosen, tip } from './chart.js';
import { fill, h, literal, segmented } from './dom.js';
import { percent, short, time } from './format.js';
import { colours } from './palette.js';
import { matching, picker } from './picker.js';
import { distinct, images, PARTS, partsOf, reasonShort, reasonText, shown, OTHER_NUMBERS } from './rows.js';
import { explained } from './strategies.js';
import { hasTrace } from './timeline.js';
import { whySlow } from './verdict.js';

const KEYS = ['scenario', 'network', 'batch', 'memory_limit_bytes'];
const MOST_MACHINES = 4;
const ROW = 40;
const ORDERS = [['listed', 'as listed'], ['step', 'by step'], ['name', 'by name'], ['memory', 'by memory']];
const FEW = 3; // rows that need no order
const SLOWER = 1.05, MOST_REASONS = 3; // than the fastest's step; sentences under a chart

/** Why it does not run, in so many characters: what it needs sooner than the words before that. */
const fitting = (text, most) => (text.length <= most ? text : clip(text.replace(/^.*?: (the plan )?/, ''), most));
const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function option(results, rows, longest, width, perSample) {
  const c = colours();
  const narrow = width < 460;
  const scale = (row) => (perSample ? 1000 / row.batch : 1);
  const bar = (key, name) => ({
    name, type: 'bar', stack: 'time', barWidth: 18, itemStyle: { color: c[key], borderColor: c.paper, borderWidth: 0.5 },
    data: rows.map((row) => (row.feasible ? Math.max(0, partsOf(row)[key]) * scale(row) : 0)),
  });
  return {
    grid: { left: narrow ? 96 : 150, right: 18, top: 8, bottom: 44 },
    xAxis: axis({ type: 'value', max: longest, name: perSample ? 'ms per sample' : 'seconds per step', nameLocation: 'middle', nameGap: 26, axisLabel: { color: c.soft, fontSize: 11.5, hideOverlap: true, showMaxLabel: false } }),
    yAxis: axis({ type: 'category', inverse: true, data: rows.map((row) => literal(row.strategy)), splitLine: { show: false },
      axisLabel: { color: c.ink, fontSize: 12.5, interval: 0, formatter: (name) => clip(name, narrow ? 14 : 22) } }),
    tooltip: { trigger: 'axis', axisPointer: { type: 'shadow', z: -1, shadowStyle: { color: c.faint } }, formatter: (items) => tooltip(rows[items[0].dataIndex], explained(results, rows[items[0].dataIndex].strategy)) },
    series: [
      ...PARTS.map(([key, name]) => bar(key, name)),
      { type: 'custom', name: 'marks', silent: true, z: 10, data: rows.map((row, i) => [0, i]), renderItem: (_, api) => marks(rows[api.value(1)], api, scale, longest, c, width) },
    ],
  };
}

// Interval, lower bound, the word behind the bar; of what does not run a hatched band with the reason.
function marks(row, api, scale, longest, c, width) {
  const at = (x) => api.coord([Math.min(x, longest), api.value(1)])[0];
  const [, y] = api.coord([0, api.value(1)]);
  if (!row.feasible) {
    const left = at(0), right = at(longest);
    return { type: 'group', children: [
      { type: 'rect', shape: { x: left, y: y - 9, width: right - left, height: 18 }, style: { fill: hatch(c.line) } },
      { type: 'text', style: { text: fitting(literal(reasonShort(row)), Math.floor((right - left - 24) / 6.4)), x: left + 14, y, verticalAlign: 'middle', fill: c.bad, font: '12px sans-serif', backgroundColor: c.paper, padding: [2, 5] } },
    ] };
  }
  const k = scale(row);
  const low = at(row.step_time_low_s * k), high = at(row.step_time_high_s * k), bound = at(row.lower_bound_s * k);
  const stroke = { stroke: c.ink, lineWidth: 1.2 };
  const line = (x1, y1, x2, y2, style) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style });
  const word = `${row.standing === 'best' ? '★ ' : row.standing === 'equal' ? '= ' : row.standing in OTHER_NUMBERS ? '≠ ' : ''}${short(row.samples_per_second)}${width < 460 ? '' : ` ${images(row)}`}${hasTrace(row.point) ? '' : ' ◦'}`;
  return { type: 'group', children: [
    line(low, y + 13, high, y + 13, stroke), line(low, y + 10.5, low, y + 15.5, stroke), line(high, y + 10.5, high, y + 15.5, stroke),
    // On bars of any colour: paper on both sides of it, no wider than it takes, for it hides what lies there.
    row.lower_bound_s > 0 ? line(bound, y - 13, bound, y + 10, { stroke: c.paper, lineWidth: 3.5 }) : null,
    row.lower_bound_s > 0 ? line(bound, y - 13, bound, y + 10, { stroke: c.bad, lineWidth: 1.5 }) : null,
    { type: 'text', style: { text: word, x: Math.max(at(row.step_time_s * k), bound) + 7, y: y - 1, verticalAlign: 'middle', fill: c.ink, font: `${row.standing === 'best' ? 'bold ' : ''}12px sans-serif` } },
  ].filter(Boolean) };
}

function tooltip(row, does) {
  const c = colours();
  if (!row.feasible) return tip(`${literal(row.strategy)}: does not run`, [['because', literal(reasonText(row))], does ? ['strategy', does] : null]);
  const parts = partsOf(row);
  return tip(literal(row.strategy), [
    ['step', `${time(row.step_time_s)} (80 %: ${time(row.step_time_low_s)} to ${time(row.step_time_high_s)})`],
    ...PARTS.filter(([key]) => parts[key] > 0).map(([key, name]) => [name, `${time(parts[key])}, ${percent(parts[key] / row.step_time_s)}`, c[key]]),
    ['lower bound', `${time(row.lower_bound_s)}, gap ${percent(row.gap)}`, c.bad],
    ['kept / swapped / recomputed', `${row.keep} / ${row.swap} / ${row.recompute}`],
    ['recomputed, waited, slowed down', percent(row.loss)],
    ['assumed costs', percent(row.assumed_share)],
    row.beyond_share > 0 ? ['models beyond their data', percent(row.beyond_share)] : null,
    row.roofline_share > 0 ? ['at full peak, for lack of laws', percent(row.roofline_share)] : null,
    row.standing in OTHER_NUMBERS ? ['not ranked', OTHER_NUMBERS[row.standing]] : null,
    does ? ['strategy', does] : null,
  ]);
}

/** Of one place the slowest that run, and why each is slower than the fastest. */
function reasons(rows) {
  const running = rows.filter((row) => row.feasible);
  const least = Math.min(...running.map((row) => row.step_time_s));
  const slow = running.filter((row) => row.step_time_s > SLOWER * least).sort((a, b) => b.step_time_s - a.step_time_s).slice(0, MOST_REASONS);
  return slow.length === 0 ? null : h('ul', { class: 'reasons' }, slow.map((row) => h('li', {}, 'Why ', h('b', {}, literal(row.strategy)), ` is slow: ${whySlow(row)}.`)));
}

function legend() {
  return h('ul', { class: 'legend' },
    PARTS.map(([key, name]) => h('li', {}, h('i', { style: `background:var(--${key})` }), name)),
    h('li', {}, h('i', { class: 'bound' }), 'lower bound of the strategy’s plans'), h('li', {}, h('i', { class: 'interval' }), '80 % interval'),
    h('li', {}, h('i', { class: 'hatched' }), 'does not run'), h('li', {}, '≠ other results than the whole batch'), h('li', {}, '◦ the page lacks the timeline, a file has it'));
}

/** Where there is most to compare: of the places where training in core does not run that with most rows that do; of these the last. */
function fullestPlace(rows, keys) {
  const places = new Map();
  for (const row of rows) {
    const place = keys.map((key) => row[key]).join('\n');
    const seen = places.get(place) ?? places.set(place, { row, running: 0, inCore: 0 }).get(place);
    seen.running += row.feasible;
    seen.inCore += row.feasible && row.strategy.startsWith('in-core') ? 1 : 0;
  }
  const last = ({ running, inCore }) => (running === 0 ? 2 : inCore > 0 ? 1 : 0);
  const better = (a, b) => last(a) - last(b) || b.running - a.running || b.row.batch - a.row.batch;
  const [{ row }] = [...places.values()].sort(better);
  return Object.fromEntries(keys.map((key) => [key, row[key]]));
}

/** The rows by what was chosen; in the end those that do not run. */
function ordered(rows, by) {
  if (by === 'listed') return rows;
  if (by === 'name') return [...rows].sort((a, b) => a.strategy.localeCompare(b.strategy, 'en'));
  const of = (row) => (row.feasible ? (by === 'step' ? row.step_time_s : row.peak_bytes) : Infinity);
  return [...rows].sort((a, b) => (of(a) === of(b) ? 0 : of(a) - of(b)));
}

export function bars(results, onPick) {
  const machines = results.machines;
  const keys = machines.length > MOST_MACHINES ? [...KEYS, 'machine'] : KEYS;
  const chosen = fullestPlace(results.rows, keys);
  const panels = h('div', { class: 'panels' });
  let perSample = false, order = 'listed', charts = [];
  const several = ['batch', 'memory_limit_bytes'].filter((key) => distinct(results.rows, key).length > 1);
  const shownPlace = (row) => several.map((key) => (key === 'batch' ? `, batch ${row.batch}` : `, ${shown(key, row[key])}`));
  const show = () => {
    for (const one of charts) one.dispose();
    const rows = matching(results.rows, chosen, keys);
    const running = rows.filter((r) => r.feasible);
    const longest = running.length === 0 ? 1 : 1.16 * Math.max(...running.map((r) => Math.max(r.step_time_high_s, r.step_time_s) * (perSample ? 1000 / r.batch : 1)));
    const nice = Number(longest.toPrecision(2));
    const boxes = distinct(rows, 'machine').map((machine) => {
      const own = ordered(rows.filter((row) => row.machine === machine), order);
      const canvas = h('div', { class: 'chart', 'data-rows': own.map((row) => literal(row.strategy)).join(' '), style: `height:${own.length * ROW + 56}px` });
      return { own, canvas, box: h('figure', {}, h('figcaption', {}, literal(machine), ...shownPlace(own[0])), canvas, reasons(own)) };
    });
    fill(panels, boxes.map((b) => b.box));
    charts = boxes.map(({ own, canvas }) => {
      const one = chart(canvas, (width) => option(results, own, nice, width, perSample), `time of a step by strategy on ${own[0].machine}`);
      onChosen(one, ({ dataIndex }) => own[dataIndex]?.feasible && onPick(own[dataIndex]));
      alongByKeys(canvas, one, own.map((_, i) => ({ seriesIndex: 0, dataIndex: i })), ({ dataIndex }) => own[dataIndex].feasible && onPick(own[dataIndex]));
      return one;
    });
  };
  const controls = h('div', { class: 'controls' }, picker(results.rows, keys, chosen, show),
    segmented('time', [['step', 'per step'], ['sample', 'per sample']], 'step', (value) => { perSample = value === 'sample'; show(); }),
    results.strategies.length > FEW ? segmented('order', ORDERS, order, (value) => { order = value; show(); }) : null);
  queueMicrotask(show);
  const waits = results.rows.some((row) => row.stall_out_s > 0)
    ? h('p', { class: 'note' }, 'Compute waits for a swap-out if the next op has no memory until the swap-out ends. Some runtimes also wait for all copies after the forward pass.') : null;
  return [controls, legend(), panels, waits];
}
