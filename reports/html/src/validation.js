// Predicted against measured: steps, where their errors come from, and which simpler models the data reject.
import { axis, chart, tip } from './chart.js';
import { h, literal } from './dom.js';
import { csv } from './files.js';
import { bytes, percent, short, signedPercent, time } from './format.js';
import { colours, marked, marking } from './palette.js';
import { distinct } from './rows.js';
import { table } from './table.js';
import { median, typed } from './typed.js';

export function readValidation(content) { return typed(csv(content)); }
export const measuredOf = (rows) => rows.filter((row) => typeof row.measured_s === 'number' && typeof row.error === 'number');

function scatter(rows) {
  const canvas = h('div', { class: 'chart', style: 'height:420px' });
  const names = distinct(rows, 'strategy').filter((name) => !String(name).startsWith('random'));
  const all = rows.flatMap((row) => [row.predicted_s, row.measured_s]);
  const least = Math.min(...all) / 1.25, most = Math.max(...all) * 1.25;
  const line = (factor, c, type) => ({ type: 'line', silent: true, symbol: 'none', lineStyle: { color: c.soft, width: 1, type }, data: [[least / 4, (least / 4) * factor], [most * 2, most * 2 * factor]], tooltip: { show: false } });
  queueMicrotask(() => chart(canvas, () => {
    const c = colours();
    const one = (name, own, i) => ({ name: literal(name), type: 'scatter', ...marked(i), symbolSize: 10, data: own.map((row) => ({ value: [row.measured_s, row.predicted_s], row })) });
    // A logarithmic axis labels decades: of less than one it would say nothing.
    const linear = most / least < 15;
    const tick = axis({ type: linear ? 'value' : 'log', min: linear ? 0 : least, max: most, axisLabel: { color: c.soft, fontSize: 11.5, hideOverlap: true, showMaxLabel: false, formatter: (v) => time(v) } });
    return {
      grid: { left: 74, right: 18, top: 16, bottom: 46 },
      xAxis: { ...tick, name: 'measured step', nameLocation: 'middle', nameGap: 28 }, yAxis: { ...tick, name: 'predicted step', nameLocation: 'middle', nameGap: 58 },
      tooltip: { trigger: 'item', formatter: ({ data }) => (data.row ? tip(literal(data.row.strategy), [['measured', `${time(data.row.measured_s)} (95 %: ${time(data.row.measured_low_s)} to ${time(data.row.measured_high_s)})`], ['predicted', time(data.row.predicted_s)], ['error', signedPercent(data.row.error)], ['kernels', signedPercent(data.row.kernel_error)], ['copies', signedPercent(data.row.copy_error === '' ? null : data.row.copy_error)], ['replayed', signedPercent(data.row.replay_error)], ['memory limit', bytes(data.row.memory_limit_bytes)]]) : '') },
      series: [line(1, c, 'solid'), line(1.1, c, 'dashed'), line(1 / 1.1, c, 'dashed'), line(1.2, c, 'dotted'), line(1 / 1.2, c, 'dotted'),
        one('random plans', rows.filter((row) => String(row.strategy).startsWith('random')), 9),
        ...names.map((name, i) => one(name, rows.filter((row) => row.strategy === name), i))],
    };
  }, 'predicted against measured step times'));
  return h('figure', {}, h('figcaption', {}, 'each plan; lines at 10 and 20 %'), canvas,
    h('ul', { class: 'legend' }, names.map((name, i) => h('li', {}, h('i', marking(i)), literal(name)))));
}

const PARTS = [['error', 'step'], ['kernel_error', 'kernels'], ['forward_error', 'forward'], ['recomputed_error', 'recomputed'], ['backward_error', 'backward'], ['isolated_error', 'kernels measured alone'], ['context_error', 'effect of the step'], ['copy_error', 'copies'], ['replay_error', 'scheduling (replay)']];

function errorParts(rows) {
  const canvas = h('div', { class: 'chart', style: `height:${PARTS.length * 36 + 60}px` });
  const parts = PARTS.map(([key, name]) => [name, rows.map((row) => row[key]).filter((v) => typeof v === 'number')]).filter(([, values]) => values.length > 0);
  queueMicrotask(() => chart(canvas, () => {
    const c = colours();
    return {
      grid: { left: 150, right: 30, top: 8, bottom: 44 },
      xAxis: axis({ type: 'value', splitNumber: 3, name: 'predicted / measured − 1', nameLocation: 'middle', nameGap: 26, axisLabel: { color: c.soft, fontSize: 11.5, hideOverlap: true, formatter: (v) => `${Math.round(100 * v)} %` } }),
      yAxis: axis({ type: 'category', inverse: true, data: parts.map(([name]) => name), axisLabel: { color: c.ink, fontSize: 12 }, splitLine: { show: false } }),
      tooltip: { trigger: 'item', formatter: ({ data }) => tip(parts[data[1]][0], [['median', signedPercent(median(parts[data[1]][1]))], ['rows', parts[data[1]][1].length]]) },
      series: [
        { type: 'scatter', symbolSize: 7, itemStyle: { color: c.swap, opacity: 0.45 }, data: parts.flatMap(([, values], i) => values.map((v) => [v, i])) },
        { type: 'scatter', symbol: 'rect', symbolSize: [3, 20], itemStyle: { color: c.ink }, data: parts.map(([, values], i) => [median(values), i]) },
      ],
    };
  }, 'errors by where they come from'));
  return h('figure', {}, h('figcaption', {}, 'where the error comes from; the bar is the median'), canvas);
}

const SETTING = ['scenario', 'network', 'batch', 'machine', 'memory_limit_bytes', 'link_rate'];

/** Who went by the predictions: at how many settings he took the fastest, and how far behind it he was at the others. */
function chosenBy(plans) {
  const settings = new Map();
  for (const row of plans) {
    const key = SETTING.map((name) => row[name]).join('\n');
    settings.set(key, [...(settings.get(key) ?? []), row]);
  }
  const contested = [...settings.values()].filter((rows) => rows.length > 1);
  if (contested.length === 0) return '';
  const least = (rows, key) => rows.reduce((a, b) => (b[key] < a[key] ? b : a));
  const behind = contested.map((rows) => least(rows, 'predicted_s').measured_s / least(rows, 'measured_s').measured_s - 1);
  const right = behind.filter((loss) => loss === 0).length;
  return ` The strategy predicted fastest was also measured fastest at ${right} of ${contested.length} settings${right < contested.length ? `; at the others it was at most ${(100 * Math.max(...behind)).toFixed(1)}\u00a0% slower than the fastest` : ''}.`;
}

function summary(rows) {
  const plans = rows.filter((row) => !String(row.strategy).startsWith('random'));
  const sizes = plans.map((row) => Math.abs(row.error));
  const bitwise = rows.filter((row) => row.numerics === 'bitwise').length;
  const rounded = rows.map((row) => row.numerics).filter((value) => typeof value === 'number');
  const trusted = rows.every((row) => row.trusted !== 0);
  const compared = rows.some((row) => row.numerics !== 'skipped');
  const numerics = compared ? `; ${bitwise} of ${rows.length} plans computed the same bits as in-core training${rounded.length > 0 ? `, ${rounded.length} within a relative difference of ${Math.max(...rounded).toPrecision(2)}` : ''}` : '';
  const counted = rows.filter((row) => row.measured_peak_bytes > 0);
  const fits = counted.every((row) => row.measured_peak_bytes <= row.predicted_peak_bytes);
  const peak = counted.length > 0 ? `The measured peak of memory is ${fits ? 'nowhere above' : 'somewhere ABOVE'} the predicted one` : 'No peak of memory was counted';
  return [trusted ? null : h('p', { class: 'warning' }, 'Do not trust these numbers: the machine was busy, or rounds of the same plan differed too much.'),
    h('p', {}, h('b', {}, `Median error ${percent(median(sizes))}, worst ${percent(Math.max(...sizes))}`), ` over ${plans.length} measured strategies${rows.length > plans.length ? ` and ${rows.length - plans.length} random plans` : ''}. ${peak}${numerics}.${chosenBy(plans)}`)];
}

/** @param {string} content validation.csv @param {string|null} falsification falsification.csv */
export function validation(content, falsification) {
  const rows = readValidation(content);
  const measured = measuredOf(rows);
  if (measured.length === 0) return [h('p', { class: 'note' }, 'Nothing was measured.'), table(rows, { all: Object.keys(rows[0] ?? { strategy: '' }), label: 'validation' })];
  const worst = [...measured].sort((a, b) => Math.abs(b.error) - Math.abs(a.error)).slice(0, 10);
  const differs = (key) => measured.some((row) => row[key] !== measured[0][key]);
  const main = [...['scenario', 'network', 'batch', 'memory_limit_bytes', 'link_rate'].filter(differs), 'strategy', 'predicted_s', 'measured_s', 'error', 'kernel_error', 'copy_error', 'replay_error', 'measured_spread', 'predicted_peak_bytes', 'measured_peak_bytes', 'numerics'];
  return [...summary(measured), h('div', { class: 'panels' }, scatter(measured), errorParts(measured)),
    h('h3', {}, 'The ten largest errors'), table(worst, { all: main, label: 'worst' }),
    falsification ? rivals(typed(csv(falsification))) : null,
    h('h3', {}, 'All'), table(rows, { main, all: Object.keys(rows[0]), label: 'validation' })];
}

function rivals(rows) {
  const plain = rows.map((row) => ({ model: row.variant, scaled: row.scaled === 1 ? 'one factor per point' : 'no factors', median: percent(row.median_error), worst: percent(row.worst_error), tau: short(row.tau), 'full model closer': row.full_closer, farther: row.full_farther, p: row.sign_test_p === '' ? '' : Number(row.sign_test_p).toPrecision(2), verdict: row.verdict }));
  return h('div', {}, h('h3', {}, 'Simpler models of the step: rejected or not'), table(plain, { all: Object.keys(plain[0] ?? { model: '' }), label: 'models' }));
}
