// Of plans that were carried out every kernel and copy: predicted against measured, and the worst of them.
import { axis, chart, tip } from './chart.js';
import { fill, h, literal, segmented, select } from './dom.js';
import * as files from './files.js';
import { bytes, percent, signedPercent, time } from './format.js';
import { colours } from './palette.js';
import { table } from './table.js';
import { median, typed } from './typed.js';

const KINDS = [['kernel', 'compute', 'kernels'], ['recompute', 'recompute', 'kernels that recompute'], ['swap-out', 'out', 'swap-outs'], ['swap-in', 'in', 'swap-ins']];
const MOST_POINTS = 20000;
const COLUMNS = ['what', 'name', 'predicted_s', 'measured_s', 'error', 'difference_s', 'strategy', 'shape', 'algorithm', 'bytes', 'how', 'low_s', 'high_s'];

/** What tells measured rows apart: "swap-all", with batch and limit where they differ. */
export function rowNames(rows) {
  const differs = (key) => rows.some((row) => row[key] !== rows[0][key]);
  const more = [['network', literal], ['batch', (v) => `batch ${v}`], ['machine', literal], ['memory_limit_bytes', bytes]].filter(([key]) => differs(key));
  return new Map(rows.map((row) => [row, [literal(row.strategy), ...more.map(([key, text]) => text(row[key]))].join(' · ')]));
}

/** @returns {Promise<Object[]>} of rows of validation.csv whose ops the page has: each kernel and copy, with `plan` */
async function opsOf(rows) {
  const names = rowNames(rows), all = [];
  for (const row of rows) {
    const content = await files.text(`ops/${row.point}.csv`);
    if (content === null) continue;
    for (const op of typed(files.csv(content))) {
      all.push({ plan: names.get(row), strategy: names.get(row), ...op, difference_s: op.predicted_s - op.measured_s });
    }
  }
  return all;
}

function option(ops) {
  const c = colours();
  const shown = ops.length > MOST_POINTS ? ops.filter((_, i) => i % Math.ceil(ops.length / MOST_POINTS) === 0) : ops;
  const all = shown.flatMap((op) => [op.measured_s, op.predicted_s]).filter((v) => v > 0);
  const least = 10 ** Math.floor(Math.log10(Math.min(...all))), most = 10 ** Math.ceil(Math.log10(Math.max(...all)));
  const line = (factor, type) => ({ type: 'line', silent: true, symbol: 'none', lineStyle: { color: c.soft, width: 1, type }, data: [[least, least * factor], [most, most * factor]], tooltip: { show: false } });
  const tick = (name, nameGap) => axis({ type: 'log', min: least, max: most, name, nameLocation: 'middle', nameGap, axisLabel: { color: c.soft, fontSize: 11.5, hideOverlap: true, formatter: (v) => time(v) } });
  return {
    grid: { left: 74, right: 18, top: 16, bottom: 46 }, xAxis: tick('measured', 28), yAxis: tick('predicted', 58),
    tooltip: { trigger: 'item', formatter: ({ data }) => (data.op ? tip(`${data.op.what} ${literal(data.op.name)}`, facts(data.op)) : '') },
    series: [line(1, 'solid'), line(1.2, 'dashed'), line(1 / 1.2, 'dashed'), line(2, 'dotted'), line(1 / 2, 'dotted'),
      ...KINDS.map(([what, colour, name]) => ({ name, type: 'scatter', symbolSize: what === 'kernel' ? 5 : 7, symbol: what.startsWith('swap') ? 'triangle' : 'circle', symbolRotate: what === 'swap-in' ? 180 : 0, itemStyle: { color: c[colour], opacity: 0.6 },
        data: shown.filter((op) => op.what === what && op.measured_s > 0 && op.predicted_s > 0).map((op) => ({ value: [op.measured_s, op.predicted_s], op })) }))],
  };
}

const facts = (op) => [
  ['plan', op.plan],
  ['measured', `${time(op.measured_s)} (${time(op.low_s)} to ${time(op.high_s)} in ${op.steps} steps)`],
  ['predicted', `${time(op.predicted_s)} (${op.how})`],
  ['error', `${signedPercent(op.error)}, ${time(op.difference_s)}`],
  op.shape ? ['shape', literal(op.shape)] : null, op.algorithm ? ['algorithm', literal(op.algorithm)] : null, op.bytes ? ['bytes', bytes(op.bytes)] : null];

/** Sums and medians of each kind, in a sentence. */
function summary(ops) {
  const parts = KINDS.map(([what, , name]) => [name, ops.filter((op) => op.what === what)]).filter(([, own]) => own.length > 0);
  const sum = (own, key) => own.reduce((total, op) => total + op[key], 0);
  return parts.map(([name, own]) => `${own.length} ${name}: ${signedPercent(sum(own, 'predicted_s') / sum(own, 'measured_s') - 1)} in sum, half of them within ${percent(median(own.map((op) => Math.abs(op.error)).filter((v) => typeof v === 'number')))}`).join('; ');
}

const WORST = {
  seconds: (op) => Math.abs(op.difference_s),
  ratio: (op) => (op.predicted_s > 0 && op.measured_s > 0 ? Math.abs(Math.log(op.predicted_s / op.measured_s)) : 0),
};

/** @param {Object[]} measured rows of validation.csv @returns {Promise<Array|null>} null: the page holds no ops */
export async function opsSection(measured) {
  const rows = measured.filter((row) => row.point && files.has(`ops/${row.point}.csv`));
  if (rows.length === 0) return null;
  const ops = await opsOf(rows);
  if (ops.length === 0) return null;
  const missing = measured.filter((row) => row.point && !rows.includes(row)).length;
  const plans = [...new Set(ops.map((op) => op.plan))];
  const canvas = h('div', { class: 'chart', style: 'height:460px' }), told = h('p', {}), worst = h('div'), all = h('div');
  let plan = null, by = 'seconds', one = null;
  const show = () => {
    const own = plan === null ? ops : ops.filter((op) => op.plan === plan);
    one?.dispose();
    one = chart(canvas, () => option(own), 'predicted against measured time of each op');
    const columns = (shown) => COLUMNS.filter((key) => (key !== 'strategy' || plan === null) && shown.some((op) => op[key] !== '' && op[key] !== undefined));
    const ten = [...own].sort((a, b) => WORST[by](b) - WORST[by](a)).slice(0, 10);
    fill(told, `${summary(own)}.`);
    fill(worst, table(ten, { all: columns(ten), label: 'worst ops' }));
    fill(all, table(own, { all: columns(own), label: 'ops' }));
  };
  queueMicrotask(show);
  return [
    h('div', { class: 'controls' }, select('plan', [[null, 'all plans'], ...plans.map((name) => [name, name])], null, (chosen) => { plan = chosen; show(); })),
    told, h('figure', {}, h('figcaption', {}, 'each kernel and copy; lines at 20 % and at a factor of 2'), canvas,
      h('ul', { class: 'legend' }, KINDS.filter(([what]) => ops.some((op) => op.what === what)).map(([, colour, name]) => h('li', {}, h('i', { style: `background:var(--${colour})` }), name)))),
    missing > 0 ? h('p', { class: 'note' }, `The page lacks the ops of ${missing} of ${measured.filter((row) => row.point).length} plans; the files in ops/ have them.`) : null,
    h('h3', {}, 'The ten ops with the largest errors'), h('div', { class: 'controls' }, segmented('largest error', [['seconds', 'by time'], ['ratio', 'by ratio']], by, (value) => { by = value; show(); })), worst,
    h('h3', {}, 'All ops'), all];
}
