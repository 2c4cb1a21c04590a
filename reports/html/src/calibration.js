// What was measured of single launches and copies, beside what the models fitted to them answer.
import { axis, chart, tip } from './chart.js';
import { h, literal } from './dom.js';
import { csv } from './files.js';
import { bytes, percent, rate, signedPercent, time } from './format.js';
import { colours, marked, marking } from './palette.js';
import { distinct } from './rows.js';
import { table } from './table.js';
import { typed } from './typed.js';

const quantile = (values, share) => { const s = [...values].sort((a, b) => a - b); return s[Math.min(s.length - 1, Math.floor(share * s.length))] ?? null; };
const kindOf = (row) => `${row.op} ${row.pass}`;
const timeAxis = (c, name, gap, least, most) => axis({ type: 'log', min: least, max: most, name, nameLocation: 'middle', nameGap: gap, axisLabel: { color: c.soft, fontSize: 11.5, hideOverlap: true, formatter: (v) => time(v) } });

function kernels(rows) {
  const canvas = h('div', { class: 'chart', style: 'height:420px' });
  const ops = distinct(rows, 'op');
  const all = rows.flatMap((row) => [row.measured_s, row.predicted_s]);
  const least = 10 ** Math.floor(Math.log10(Math.min(...all))), most = 10 ** Math.ceil(Math.log10(Math.max(...all)));
  const line = (factor, c, type) => ({ type: 'line', silent: true, symbol: 'none', lineStyle: { color: c.soft, width: 1, type }, data: [[least, least * factor], [most, most * factor]], tooltip: { show: false } });
  queueMicrotask(() => chart(canvas, () => {
    const c = colours();
    return {
      grid: { left: 74, right: 18, top: 16, bottom: 46 }, xAxis: timeAxis(c, 'measured', 28, least, most), yAxis: timeAxis(c, 'by model', 58, least, most),
      tooltip: { trigger: 'item', formatter: ({ data }) => (data.row ? tip(`${kindOf(data.row)} ${literal(data.row.algorithm)}`, [['shape', literal(data.row.shape)], ['measured', `${time(data.row.measured_s)} (${time(data.row.low_s)} to ${time(data.row.high_s)})`], ['by model', `${time(data.row.predicted_s)} (${data.row.how})`], ['error', signedPercent(data.row.error)], ['', literal(data.row.flags)]]) : '') },
      series: [line(1, c, 'solid'), line(1.2, c, 'dashed'), line(1 / 1.2, c, 'dashed'),
        ...ops.map((op, i) => ({ name: op, type: 'scatter', ...marked(i, 0.65), symbolSize: 7, data: rows.filter((row) => row.op === op).map((row) => ({ value: [row.measured_s, row.predicted_s], row })) }))],
    };
  }, 'kernels measured against the models'));
  return h('figure', {}, h('figcaption', {}, 'kernels; dashed lines: 20 % above and below'), canvas, h('ul', { class: 'legend' }, ops.map((op, i) => h('li', {}, h('i', marking(i)), literal(op)))));
}

function residuals(rows) {
  const kinds = distinct(rows.map((row) => ({ kind: kindOf(row) })), 'kind');
  const canvas = h('div', { class: 'chart', style: `height:${kinds.length * 24 + 60}px` });
  queueMicrotask(() => chart(canvas, () => {
    const c = colours();
    return {
      grid: { left: 170, right: 30, top: 8, bottom: 44 },
      xAxis: axis({ type: 'value', splitNumber: 4, name: 'model / measured − 1', nameLocation: 'middle', nameGap: 26, axisLabel: { color: c.soft, fontSize: 11.5, hideOverlap: true, formatter: (v) => `${Math.round(100 * v)} %` } }),
      yAxis: axis({ type: 'category', inverse: true, data: kinds, axisLabel: { color: c.ink, fontSize: 11.5, interval: 0 }, splitLine: { show: false } }),
      tooltip: { trigger: 'item', formatter: ({ data }) => tip(kinds[data[1]], [['samples', rows.filter((r) => kindOf(r) === kinds[data[1]]).length], ['error', signedPercent(data[0])]]) },
      series: [
        { type: 'scatter', symbolSize: 6, itemStyle: { color: c.swap, opacity: 0.4 }, data: rows.map((row) => [row.error, kinds.indexOf(kindOf(row))]) },
        { type: 'scatter', symbol: 'rect', symbolSize: [3, 14], itemStyle: { color: c.ink }, data: kinds.map((kind, i) => [quantile(rows.filter((r) => kindOf(r) === kind).map((r) => r.error), 0.5), i]) },
      ],
    };
  }, 'residuals of the models by op and pass'));
  return h('figure', {}, h('figcaption', {}, 'residuals by op and pass; the bar is the median'), canvas);
}

function copies(rows) {
  const canvas = h('div', { class: 'chart', style: 'height:320px' });
  const directions = [['h2d', 'host to device', 'in'], ['d2h', 'device to host', 'out']];
  queueMicrotask(() => chart(canvas, () => {
    const c = colours();
    const speed = (key) => (row) => ({ value: [row.bytes, row.bytes / row[key] / 1e9], row });
    return {
      grid: { left: 60, right: 18, top: 16, bottom: 46 },
      xAxis: axis({ type: 'log', name: 'bytes copied', nameLocation: 'middle', nameGap: 28, axisLabel: { color: c.soft, fontSize: 11.5, hideOverlap: true, formatter: (v) => bytes(v) } }),
      yAxis: axis({ type: 'value', min: 0, name: 'GB/s', nameLocation: 'middle', nameGap: 40 }),
      tooltip: { trigger: 'item', formatter: ({ data }) => (data.row ? tip(`${bytes(data.row.bytes)} ${data.row.direction}`, [['measured', `${time(data.row.measured_s)}, ${rate(data.row.bytes / data.row.measured_s)}`], ['by the curve', time(data.row.predicted_s)], ['error', signedPercent(data.row.error)], data.row.rows > 1 ? ['rows', data.row.rows] : null]) : '') },
      series: directions.flatMap(([key, name, colour]) => {
        const own = rows.filter((row) => row.direction === key).sort((a, b) => a.bytes - b.bytes);
        return [{ name, type: 'scatter', symbolSize: 7, itemStyle: { color: c[colour], opacity: 0.8 }, data: own.map(speed('measured_s')) },
          { name, type: 'line', symbol: 'none', lineStyle: { color: c[colour], width: 1.5 }, data: own.filter((row) => row.rows === 1).map(speed('predicted_s')) }];
      }),
    };
  }, 'rate of copies over their size, measured and by the curve'));
  return h('figure', {}, h('figcaption', {}, 'copies; lines are the profile’s curves'), canvas, h('ul', { class: 'legend' }, directions.map(([, name, colour]) => h('li', {}, h('i', { style: `background:var(--${colour})` }), name))));
}

/** @param {string} content calibration.csv */
export function calibration(content) {
  const rows = typed(csv(content));
  const ofKernels = rows.filter((row) => row.what === 'kernel'), ofCopies = rows.filter((row) => row.what === 'copy');
  const sizes = ofKernels.map((row) => Math.abs(row.error));
  const worst = [...rows].sort((a, b) => Math.abs(b.error) - Math.abs(a.error)).slice(0, 10);
  const main = ['op', 'pass', 'shape', 'algorithm', 'direction', 'bytes', 'measured_s', 'predicted_s', 'error', 'how', 'flags'];
  const noisy = rows.filter((row) => String(row.flags).includes('noisy')).length;
  return [sizes.length === 0 ? null : h('p', {}, h('b', {}, `Error of the models on the kernels that they were fitted to: ${percent(quantile(sizes, 0.5))} in the median, ${percent(quantile(sizes, 0.9))} at the 90th percentile`), `, ${ofKernels.length} samples${noisy > 0 ? `, ${noisy} of all samples noisy` : ''}. Plans use the measured time of a launch that was timed, and a model for every other launch.`),
    h('div', { class: 'panels' }, ofKernels.length > 0 ? [kernels(ofKernels), residuals(ofKernels)] : null, ofCopies.length > 0 ? copies(ofCopies) : null),
    h('h3', {}, 'The ten largest errors'), table(worst, { all: main.filter((key) => worst.some((row) => row[key] !== '')), label: 'worst' }),
    h('h3', {}, 'All samples'), table(rows, { main, all: Object.keys(rows[0] ?? { op: '' }), label: 'samples' })];
}
