// The memory of a recorded step over its calls, by module, and how long its largest tensors at the peak live.
import { axis, chart, tip } from './chart.js';
import { h, literal } from './dom.js';
import { bytes, percent } from './format.js';
import { colours, strategyColour } from './palette.js';
import { table } from './table.js';

const LANE = 24, AREA = 340;
const nameOf = (row) => (row.summed > 0 ? `${row.summed} others` : literal(row.module || '(none)'));
// Of more rows than colours the later ones are hatched by their opacity: next to each other they differ anyway.
const opacityOf = (i) => (i < 10 ? 1 : 0.45);

function tensorTip(tensor, memory) {
  return tip(literal(tensor.tensor), [['bytes', `${bytes(tensor.bytes)}, ${percent(tensor.bytes / memory.peak.bytes)} of the peak`], ['class', tensor.class],
    ['made by', tensor.made_by === '' ? 'before the step' : literal(tensor.made_by)], ['module', literal(tensor.module || '(none)')], ['from call', tensor.first], ['to call', tensor.last]]);
}

/** What lies in memory while a call runs, the largest first. */
function callTip(k, memory) {
  const shown = memory.rows.map((row, i) => [row, i]).filter(([row]) => row.bytes[k] > 0).sort(([a], [b]) => b.bytes[k] - a.bytes[k]);
  const sum = memory.rows.reduce((all, row) => all + row.bytes[k], 0);
  return tip(literal(memory.names[k]), [['in all', bytes(sum)], ...shown.map(([row, i]) => [nameOf(row), bytes(row.bytes[k]), strategyColour(i)])]);
}

function area(memory, i, c, more) {
  const sums = memory.at.map((call, k) => [call, memory.rows.slice(0, i + 1).reduce((sum, row) => sum + row.bytes[k], 0)]);
  return {
    id: `row ${i}`, name: nameOf(memory.rows[i]), type: 'line', step: 'end', xAxisIndex: 1, yAxisIndex: 1, symbol: 'none', emphasis: { disabled: true }, silent: true,
    lineStyle: { width: i === memory.rows.length - 1 ? 1 : 0, color: c.ink }, areaStyle: { color: c.paper, opacity: 1, origin: 'start' }, data: sums, z: 2, ...more,
  };
}

/** Each from zero to the sum of its own and those below it, the highest first; on paper, so that none shows through. */
function areas(memory, c) {
  return memory.rows.flatMap((row, i) => [
    area(memory, i, c, {}),
    area(memory, i, c, { id: `colour ${i}`, areaStyle: { color: strategyColour(i), opacity: opacityOf(i), origin: 'start' } }),
  ].reverse()).reverse();
}

function marks(memory, c) {
  const line = (value, text, colour) => ({ ...value, label: { formatter: text, position: 'xAxis' in value ? 'end' : 'insideEndTop', rotate: 0, distance: 3, color: colour, fontSize: 11.5 }, lineStyle: { color: colour, type: 'solid', width: 1.5 } });
  const data = [line({ xAxis: memory.peak.call }, `peak ${bytes(memory.peak.bytes)}`, c.bad)];
  if (memory.limit_bytes) data.push(line({ yAxis: memory.limit_bytes }, `limit ${bytes(memory.limit_bytes)}`, c.bad));
  return { type: 'line', xAxisIndex: 1, yAxisIndex: 1, data: [], markLine: { symbol: 'none', silent: true, data }, z: 5 };
}

function bar(params, api, memory, c) {
  const tensor = memory.largest[params.dataIndex];
  const [x1, y] = api.coord([tensor.first, params.dataIndex]), [x2] = api.coord([tensor.last, params.dataIndex]), [peak] = api.coord([memory.peak.call, params.dataIndex]);
  return { type: 'group', children: [
    { type: 'rect', shape: { x: x1, y: y - 8, width: Math.max(2, x2 - x1), height: 16 }, style: { fill: c.feature_map } },
    { type: 'line', silent: true, shape: { x1: peak, y1: y - LANE / 2, x2: peak, y2: y + LANE / 2 }, style: { stroke: c.bad, lineWidth: 1.5 } }] };
}

function option(memory, width) {
  const c = colours(), narrow = width < 460, left = narrow ? 70 : 200, top = 10, lanes = memory.largest.length * LANE;
  const x = (more) => axis({ type: 'value', min: 0, max: memory.calls - 1, ...more });
  const grid = (more) => ({ left, right: 18, outerBoundsMode: 'none', ...more });
  return {
    grid: [grid({ top, height: lanes }), grid({ top: top + lanes + 22, height: AREA, tooltip: { trigger: 'axis' } })],
    xAxis: [x({ gridIndex: 0, axisLabel: { show: false } }), x({ gridIndex: 1, name: 'call', nameLocation: 'middle', nameGap: 26 })],
    yAxis: [
      axis({ type: 'category', inverse: true, gridIndex: 0, data: memory.largest.map((tensor) => `${narrow ? '' : `${literal(tensor.made_by || tensor.tensor)} `}${bytes(tensor.bytes)}`), axisLabel: { color: c.ink, fontSize: 11.5, interval: 0, width: left - 12, overflow: 'truncate' }, splitLine: { show: false } }),
      axis({ type: 'value', gridIndex: 1, min: 0, max: (v) => Math.max(v.max, memory.limit_bytes ?? 0) * 1.05, axisLabel: { color: c.soft, fontSize: 11.5, showMaxLabel: false, formatter: (v) => (v === 0 ? '0' : bytes(v).replace(/\.0+(?=\D)/, '')) } }),
    ],
    tooltip: { trigger: 'item', formatter: (item) => (Array.isArray(item) ? callTip(item[0].dataIndex, memory) : item.seriesId === 'tensors' ? tensorTip(memory.largest[item.dataIndex], memory) : '') },
    axisPointer: { link: [{ xAxisIndex: 'all' }], label: { show: false }, lineStyle: { color: c.soft, type: 'solid' } },
    series: [
      { id: 'tensors', type: 'custom', xAxisIndex: 0, yAxisIndex: 0, data: memory.largest.map((tensor, k) => [tensor.first, tensor.last, k]), encode: { x: [0, 1], y: 2 }, renderItem: (params, api) => bar(params, api, memory, c) },
      ...areas(memory, c), marks(memory, c)],
  };
}

/** @param {Object} memory memory.json of reports/html/memory_page.h */
export function memorySection(memory) {
  const canvas = h('div', { class: 'chart', style: `height:${memory.largest.length * LANE + AREA + 80}px` });
  queueMicrotask(() => chart(canvas, (width) => option(memory, width), 'memory over the step by module'));
  const rows = memory.rows.filter((row) => row.peak_bytes > 0).map((row) => ({ module: nameOf(row), peak_bytes: row.peak_bytes, share: percent(row.peak_bytes / memory.peak.bytes) }));
  const tensors = memory.largest.map(({ tensor, bytes: size, class: kind, module, made_by: maker, first, last }) => ({ tensor, bytes: size, share: percent(size / memory.peak.bytes), class: kind, 'made by': maker || 'before the step', module: module || '(none)', 'from call': first, 'to call': last }));
  const legend = h('ul', { class: 'legend' }, memory.rows.map((row, i) => h('li', {}, h('i', { style: `background:var(--s${i % 10});opacity:${opacityOf(i)}` }), nameOf(row))));
  return [h('figure', {}, h('figcaption', {}, 'above: the largest tensors at the peak, from the call that makes them to the last that needs them; below: all bytes, by the module that made them'), canvas, legend),
    h('h3', {}, 'At the peak, by module'), table(rows, { all: Object.keys(rows[0] ?? { module: '' }), label: 'modules' }),
    h('h3', {}, 'The largest tensors at the peak'), table(tensors, { all: Object.keys(tensors[0] ?? { tensor: '' }), label: 'tensors' })];
}
