// Throughput over batch, memory or link rate, the machines side by side on the same axes.
import { alongByKeys, axis, chart, onChosen, tip } from './chart.js';
import { fill, h, literal, segmented } from './dom.js';
import { bytes, listed, short } from './format.js';
import { colours, DASHES, marked, marking, strategyColour } from './palette.js';
import { matching, picker, varying } from './picker.js';
import { distinct, images, shown, throughputInterval, OTHER_NUMBERS } from './rows.js';
import { tied } from './verdict.js';

const XS = { batch: ['batch', 'batch'], memory_limit_bytes: ['memory', 'device memory, GB'], link: ['link rate', 'link, GB/s'] };
const MOST_TICKS = 12;
const scaled = (key, value) => (key === 'batch' ? value : value / 1e9);

function option(results, rows, key, top, range, hidden) {
  const c = colours();
  const series = results.strategies.filter((name) => !hidden.has(name)).flatMap((name) => {
    const own = rows.filter((row) => row.strategy === name).sort((a, b) => a[key] - b[key]);
    if (!own.some((row) => row.feasible)) return [];
    const i = results.strategyIndex(name), colour = strategyColour(i);
    return [{
      name: literal(name), type: 'line', ...marked(i), symbolSize: ['circle', 'rect'].includes(marked(i).symbol) ? 8 : 10, connectNulls: false,
      lineStyle: { width: 2, type: DASHES[i % 10], color: colour },
      data: own.map((row) => ({ value: [scaled(key, row[key]), row.feasible ? row.samples_per_second : null], row })),
    }, {
      name: literal(name), type: 'custom', silent: true, z: 1, data: own.filter((r) => r.feasible).map((row) => [scaled(key, row[key]), ...throughputInterval(row)]),
      renderItem: (_, api) => {
        const [x, low] = api.coord([api.value(0), api.value(1)]), [, high] = api.coord([api.value(0), api.value(2)]);
        return { type: 'line', shape: { x1: x, y1: low, x2: x, y2: high }, style: { stroke: colour, lineWidth: 5, opacity: 0.16 } };
      },
      encode: { x: 0, y: [1, 2] },
    }];
  });
  series.push({
    name: 'published', type: 'scatter', symbol: 'diamond', symbolSize: 13, z: 5, itemStyle: { color: 'transparent', borderColor: c.bad, borderWidth: 2 },
    data: published(results, rows).map(({ row, low, high, source }) => ({ value: [scaled(key, row[key]), (low + high) / 2], row, source })),
  });
  const xs = distinct(rows, key).map((x) => scaled(key, x)).sort((a, b) => a - b);
  const ticks = xs.length <= MOST_TICKS ? { customValues: xs } : {}; // the points themselves
  return {
    grid: { left: 54, right: 16, top: 14, bottom: 44 },
    xAxis: axis({ type: key === 'link' ? 'log' : 'value', logBase: 2, min: range[0], max: range[1], name: XS[key][1], nameLocation: 'middle', nameGap: 27, axisTick: { show: false, ...ticks },
      axisLabel: { color: c.soft, fontSize: 11.5, hideOverlap: true, ...(xs.length <= MOST_TICKS ? {} : { showMinLabel: false, showMaxLabel: false }), ...ticks, formatter: (v) => short(v).replace(/\.0+$/, '') } }),
    yAxis: axis({ type: 'value', min: 0, max: top, axisLabel: { color: c.soft, fontSize: 11.5, showMaxLabel: false } }),
    tooltip: { trigger: 'item', formatter: ({ data, seriesName }) => (data.row ? pointTip(data, seriesName, key) : '') },
    series,
  };
}

function pointTip({ row, source, value }, name, key) {
  if (source) return tip('published', [[literal(source), `${short(value[1])} ${images(row)}`], ['ours', row.feasible ? short(row.samples_per_second) : 'does not run']]);
  const [low, high] = throughputInterval(row);
  return tip(`${name} at ${shown(key, row[key])}`, [[images(row), `${short(row.samples_per_second)} (80 %: ${short(low)} to ${short(high)})`],
    ['against the fastest', row.standing === 'best' ? 'the fastest' : row.standing === 'equal' ? 'cannot be told apart' : OTHER_NUMBERS[row.standing] ?? 'slower'], ['memory in use', bytes(row.peak_bytes)]]);
}

function published(results, rows) {
  const points = new Set(rows.map((row) => row.point));
  return results.expectations.filter((e) => e.measure === 'samples_per_second' && points.has(e.point) && (e.paper_low ?? e.paper_high) !== null)
    .map((e) => ({ row: results.byPoint.get(e.point), low: e.paper_low ?? e.paper_high, high: e.paper_high ?? e.paper_low, source: e.source }));
}

/**
 * Where the winner changes along x, by the figures of the neighbours: sentences. Of one machine, one strategy stays the
 * winner as long as some strategy is the fastest, or not to be told from it, at all points since the last change.
 */
export function crossings(rows, key) {
  const texts = [];
  for (const name of distinct(rows, key === 'link' ? 'base' : 'machine')) {
    const own = rows.filter((row) => (key === 'link' ? row.base : row.machine) === name);
    const points = distinct(own, key).sort((a, b) => a - b).map((x) => {
      const here = own.filter((row) => row[key] === x);
      return { x, best: here.find((row) => row.standing === 'best'), tied: tied(here) };
    }).filter((point) => point.best);
    let holders = points[0]?.tied ?? [];
    for (let i = 1; i < points.length; ++i) {
      const [a, b] = [points[i - 1], points[i]];
      const still = holders.filter((holder) => b.tied.includes(holder));
      if (still.length > 0) { holders = still; continue; }
      const from = holders.includes(a.best.strategy) ? a.best.strategy : holders[0];
      texts.push(`${literal(name)}: ${literal(b.best.strategy)} overtakes ${literal(from)} ${where(own, key, a.x, b.x, from, b.best.strategy)}`);
      holders = b.tied;
    }
  }
  return texts;
}

/** Where `to` overtakes `from` on straight lines between two points; where there are no such lines, between which points. */
function where(rows, key, a, b, from, to) {
  const at = (x, name) => rows.find((row) => row[key] === x && row.strategy === name && row.feasible)?.samples_per_second ?? NaN;
  const before = at(a, from) - at(a, to), after = at(b, to) - at(b, from);
  if (!(before > 0 && after > 0)) return `between ${shown(key, a)} and ${shown(key, b)}`;
  const crossing = a + (b - a) * (before / (before + after));
  return `near ${shown(key, key === 'batch' ? Math.round(crossing) : crossing)}`;
}

function changesText(rows, key) {
  if (!rows.some((row) => row.feasible)) return 'No strategy runs here.';
  const changes = crossings(rows, key);
  if (changes.length === 0) return 'On no machine does a strategy overtake another by more than the errors of the predictions.';
  return `The winner changes: ${changes.slice(0, 6).join('; ')}${changes.length > 6 ? `; and ${changes.length - 6} more times` : ''}.`;
}

/** Where lines have no points: who does not run where, on which machines where not on all. */
function gapsText(rows, key) {
  const byMachine = key === 'link' ? 'base' : 'machine', machines = distinct(rows, byMachine);
  const xs = (some) => distinct(some, key).sort((a, b) => a - b);
  const parts = distinct(rows, 'strategy').flatMap((strategy) => {
    const places = new Map();
    for (const machine of machines) {
      const at = xs(rows.filter((row) => row.strategy === strategy && row[byMachine] === machine && !row.feasible)).map((x) => shown(key, x)).join(', ');
      if (at !== '') places.set(at, [...(places.get(at) ?? []), machine]);
    }
    return [...places].map(([at, where]) => `${literal(strategy)} at ${at}${where.length < machines.length ? ` on ${listed(where.map(literal))}` : ''}`);
  });
  if (parts.length === 0) return '';
  return ` Does not run: ${parts.slice(0, MOST_GAPS).join('; ')}${parts.length > MOST_GAPS ? `; and ${parts.length - MOST_GAPS} more, in the table` : ''}.`;
}

const MOST_PANELS = 6, MOST_GAPS = 6;

export function curves(results, onPick) {
  const machineRows = (base) => results.rows.filter((row) => row.base === base);
  const lengths = (key) => Math.max(...results.bases.map((base) => distinct(machineRows(base), key).length));
  const able = Object.keys(XS).filter((key) => lengths(key) > 1).sort((a, b) => lengths(b) - lengths(a));
  if (able.length === 0 || !results.rows.some((row) => row.feasible)) return null;
  let key = able[0], charts = [];
  const chosen = {}, hidden = new Set();
  const panels = h('div', { class: 'panels' }), note = h('p', { class: 'note' }), pick = h('div', {});
  const swept = results.bases.some((base) => varying(machineRows(base), ['link']).length > 0);
  const others = () => ['scenario', 'network', ...(swept ? ['link'] : []), 'batch', 'memory_limit_bytes'].filter((k) => k !== key);
  const show = () => {
    for (const one of charts) one.dispose();
    const rows = matching(results.rows, chosen, others());
    const seen = rows.filter((r) => r.feasible && !hidden.has(r.strategy));
    const top = Number((1.06 * Math.max(1, ...seen.map((r) => throughputInterval(r)[1]), ...published(results, rows).map((p) => p.high))).toPrecision(2));
    const xs = rows.map((r) => scaled(key, r[key]));
    const [least, most] = [Math.min(...xs), Math.max(...xs)];
    const pad = key === 'link' ? 0 : 0.05 * (most - least);
    const range = key === 'link' ? [least * 0.9, most * 1.1] : [Math.max(0, least - pad), most + pad];
    const names = distinct(rows, key === 'link' ? 'base' : 'machine');
    const boxes = names.slice(0, MOST_PANELS).map((name) => {
      const own = rows.filter((row) => (key === 'link' ? row.base : row.machine) === name);
      const canvas = h('div', { class: 'chart', style: 'height:320px' });
      return { own, canvas, box: h('figure', {}, h('figcaption', {}, literal(name)), canvas) };
    }).filter((b) => distinct(b.own, key).length > 0);
    fill(panels, boxes.map((b) => b.box));
    charts = boxes.map(({ own, canvas }) => {
      const one = chart(canvas, () => option(results, own, key, top, range, hidden), `throughput over ${XS[key][0]} on ${own[0].machine}`);
      onChosen(one, ({ data }) => data?.row?.feasible && onPick(data.row));
      const points = one.instance.getOption().series.flatMap((line, seriesIndex) => line.data.flatMap(({ row }, dataIndex) => (row?.feasible ? [{ seriesIndex, dataIndex, row }] : [])));
      alongByKeys(canvas, one, points, ({ row }) => onPick(results.byPoint.get(row.point)));
      return one;
    });
    const left = names.length - Math.min(names.length, MOST_PANELS);
    fill(note, changesText(rows, key), rows.some((row) => row.feasible) ? gapsText(rows, key) : null, left > 0 ? ` The charts show ${MOST_PANELS} of ${names.length} machines; the table has all.` : null);
  };
  const rebuild = () => { fill(pick, picker(results.rows, others(), chosen, show)); show(); };
  const legend = h('ul', { class: 'legend toggles' }, results.strategies.map((name, i) => {
    const button = h('button', { type: 'button', 'aria-pressed': 'true', click: () => {
      if (hidden.has(name)) hidden.delete(name); else hidden.add(name);
      button.setAttribute('aria-pressed', String(!hidden.has(name)));
      show();
    } }, h('i', marking(i)), literal(name));
    return h('li', {}, button);
  }), published(results, results.rows).length > 0 ? h('li', {}, h('i', { class: 'published' }), 'published') : null);
  queueMicrotask(rebuild);
  return [h('div', { class: 'controls' }, able.length > 1 ? segmented('over', able.map((k) => [k, `over ${XS[k][0]}`]), key, (value) => { key = value; rebuild(); }) : null, pick),
    legend, panels, note];
}
