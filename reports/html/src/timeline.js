// A step's streams over time, the memory under them, zoomed together.
import { axis, chart, onChosen, tip } from './chart.js';
import { fill, h, literal } from './dom.js';
import * as files from './files.js';
import { bytes, percent, rate, short, signedPercent, time } from './format.js';
import { colours } from './palette.js';
import { barsOf, categoryOf, curveOf, Trace } from './trace.js';

const LANE = 30, MEMORY = 170;
const cache = new Map();

/** @returns {Promise<Trace|null>} of a point, null where the page does not have it */
export async function traceOf(point) {
  const name = `timelines/${point}.trace.json`;
  if (!cache.has(point)) {
    const content = await files.text(name);
    if (content === null) return null;
    cache.set(point, new Trace(content));
  }
  return cache.get(point);
}

/** The same; null where it cannot be read, and what is to be said of it in place of it. */
export async function tracedOrWhy(point, absent) {
  try {
    const trace = await traceOf(point);
    return { trace, why: trace ? '' : absent };
  } catch (error) {
    return { trace: null, why: `This timeline is damaged (${error.message}): timelines/${point}.trace.json. ` };
  }
}
export const hasTrace = (point) => cache.has(point) || files.has(`timelines/${point}.trace.json`);

const word = (name) => name.replaceAll('_', ' ');

/** What there is to say about a slice: pairs for tooltip and panel. */
function facts(slice, trace) {
  const a = slice.args;
  const map = a.map && trace.maps.find((m) => m.name === a.map);
  return [
    ['begins', time(slice.start)], ['takes', time(slice.end - slice.start)],
    a.algorithm ? ['algorithm', `${a.algorithm}, ${bytes(a.workspace)} of workspace`] : null,
    a.shape ? ['shape', a.shape] : null,
    slice.cat === 'copy' ? ['bytes', `${bytes(a.bytes)}, ${rate(a.bytes / (slice.end - slice.start))}`] : null,
    a.flops ? ['work', `${short(a.flops / 1e9)} GFLOP, ${bytes(a.bytes)} touched`] : null,
    a.predicted_ns !== undefined ? ['predicted', `${time(a.predicted_ns / 1e9)}, ${signedPercent(a.predicted_ns / 1e9 / (slice.end - slice.start) - 1)}`] : null,
    a.source ? ['cost', `${a.source} (${a.how})`] : null,
    a.cause ? ['cause', word(a.cause)] : null,
    a.by !== undefined && trace.byInstruction.has(a.by) ? ['until the end of', literal(trace.byInstruction.get(a.by).name)] : null,
    map ? ['map', `${map.shape}, ${map.class}`] : null,
    slice.cat === 'stall' && trace.heldUp(slice) ? ['holds up', literal(trace.heldUp(slice).name)] : null,
    a.reason ? ['why', literal(a.reason)] : null,
  ].filter(Boolean);
}

export class Timeline {
  /** @param {() => void} onOpen the page has a timeline more */
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.status = h('p', { class: 'note', role: 'status' });
    this.canvas = h('div', { class: 'chart', tabindex: 0 });
    this.detail = h('div', { class: 'detail', 'aria-live': 'polite' }, h('p', { class: 'note' }, 'Choose a bar to see its details; point at the memory curve to see the contents of memory. Drag to move; use Ctrl and the wheel, or the slider, to zoom. Keys: ← → + − and 0.'));
    this.search = h('input', { type: 'search', placeholder: 'op or map', 'aria-label': 'find an op or map', keydown: (e) => { if (e.key === 'Enter') { e.preventDefault(); this.#find(); } } });
    this.classes = h('ul', { class: 'legend' });
    this.caption = h('p', { class: 'on-paper' });
    this.element = h('div', {}, this.caption, this.canvas, this.classes, h('div', { class: 'under' }, h('span', { class: 'field' }, h('label', {}, 'find', this.search)), this.status), this.detail);
    this.canvas.addEventListener('keydown', (event) => this.#key(event));
    this.window = [0, 1];
    this.hits = null;
  }

  async show(row) {
    this.row = row;
    fill(this.caption, `${literal(row.strategy)} on ${literal(row.machine)}, batch ${row.batch}${row.memory_limit_bytes ? `, ${bytes(row.memory_limit_bytes)}` : ''}`);
    const { trace, why } = await tracedOrWhy(row.point, `The page lacks this timeline; the file timelines/${row.point}.trace.json has it: `);
    if (this.row !== row) return;
    this.chart?.dispose();
    this.chart = null;
    this.trace = trace;
    this.marked = null;
    this.hits = null;
    if (!trace || trace.lanes.length === 0) {
      this.canvas.style.height = '0';
      fill(this.status, why || 'This timeline is empty. ', this.#opener());
      fill(this.detail);
      fill(this.classes);
      return;
    }
    fill(this.classes, h('li', {}, 'memory:'), trace.classes.map((name) => h('li', {}, h('i', { style: `background:var(--memory-${name}, var(--other))` }), word(name))));
    this.window = [0, trace.end];
    this.canvas.style.height = `${trace.lanes.length * LANE + MEMORY + 96}px`;
    this.chart = chart(this.canvas, (width) => this.#option(width), `timeline of ${row.strategy}: streams and memory`);
    onChosen(this.chart, (event) => { if (event.seriesId === 'bars') this.mark(event.data.bar.slice); });
    this.chart.instance.on('datazoom', () => this.#zoomed());
  }

  #opener() {
    const input = h('input', { type: 'file', accept: '.json,.gz', change: async () => {
      if (!input.files[0]) return;
      const { row } = this, { name } = input.files[0];
      try {
        const trace = new Trace(await files.unpacked(input.files[0]));
        const { point } = trace.head;
        if (point !== row.point) throw new Error(point === undefined ? 'the file names no point' : `the file is the timeline of ${literal(point)}`);
        cache.set(row.point, trace);
      } catch (error) {
        fill(this.status, `${literal(name)} is not timelines/${row.point}.trace.json: ${error.message}. `, this.#opener());
        return;
      }
      this.onOpen();
      if (this.row === row) this.show(row);
    } });
    return h('label', { class: 'button' }, 'open the file', input);
  }

  #option(width) {
    const c = colours(), { trace } = this;
    const [from, to] = this.window;
    const narrow = width < 460;
    const left = narrow ? 70 : trace.lanes.some((lane) => lane.measured) ? 148 : 128, plot = width - left - 18;
    const { bars, merged } = barsOf(trace, from, to, plot);
    fill(this.status, `${bars.length} bars drawn${merged > 0 ? `, ${merged} slice${merged === 1 ? '' : 's'} narrower than a pixel merged into their neighbours` : ''}; timelines/${this.row.point}.trace.json has all slices, for Perfetto.`);
    const points = curveOf(trace, from, to, Math.floor(plot / 2));
    const bottom = trace.lanes.length * LANE + 12;
    const x = (more) => axis({ type: 'value', min: 0, max: trace.end, axisLabel: { color: c.soft, fontSize: 11.5, hideOverlap: true, showMaxLabel: false, formatter: (v) => time(v) }, ...more });
    const names = trace.lanes.map((lane) => `${lane.measured ? (narrow ? 'measured\n' : 'measured ') : ''}${laneName(lane.name, narrow)}`);
    return {
      // Of one width, whatever their labels: what lies above each other is of one moment.
      grid: [{ left, right: 18, top: 10, height: trace.lanes.length * LANE, outerBoundsMode: 'none' }, { left, right: 18, top: bottom + 12, height: MEMORY, outerBoundsMode: 'none', tooltip: { trigger: 'axis' } }],
      xAxis: [x({ gridIndex: 0, axisLabel: { show: false } }), x({ gridIndex: 1 })],
      yAxis: [
        axis({ type: 'category', inverse: true, gridIndex: 0, data: names, axisLabel: { color: c.ink, fontSize: narrow ? 11 : 12, lineHeight: 12, interval: 0 }, splitLine: { show: false } }),
        axis({ type: 'value', gridIndex: 1, min: 0, max: (v) => Math.max(v.max, trace.limit ?? 0) * 1.05, name: narrow ? '' : 'device memory', nameLocation: 'middle', nameGap: 64, axisLabel: { color: c.soft, fontSize: 11.5, showMaxLabel: false, formatter: (v) => (v === 0 ? '0' : bytes(v).replace(/\.0+(?=\D)/, '')) } }),
      ],
      dataZoom: [
        { type: 'inside', xAxisIndex: [0, 1], startValue: from, endValue: to, filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false },
        { type: 'slider', xAxisIndex: [0, 1], startValue: from, endValue: to, filterMode: 'none', bottom: 8, height: 20, showDetail: false, brushSelect: false, borderColor: c.line, fillerColor: c.faint, handleStyle: { color: c.paper, borderColor: c.soft }, moveHandleStyle: { color: c.line }, dataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } }, selectedDataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } } },
      ],
      tooltip: { trigger: 'item', formatter: (item) => (Array.isArray(item) ? this.#memoryTip(item[0].axisValue) : this.#tip(item)) },
      axisPointer: { link: [{ xAxisIndex: 'all' }], label: { show: false }, lineStyle: { color: c.soft, type: 'solid' } },
      series: [
        { id: 'bars', type: 'custom', xAxisIndex: 0, yAxisIndex: 0, clip: true, data: bars.map((bar) => ({ value: [bar.start, bar.end, bar.lane], bar })), encode: { x: [0, 1], y: 2 },
          renderItem: (params, api) => this.#bar(params, api, bars[params.dataIndex], c) },
        // Each from zero to the sum of its own and those below it, the highest first: the chart's own stacking looks up what
        // lies below by its x, of which a staircase has two.
        ...trace.classes.map((name, i) => ({
          id: `memory ${name}`, name: word(name), type: 'line', xAxisIndex: 1, yAxisIndex: 1, symbol: 'none', emphasis: { disabled: true },
          lineStyle: { width: 0 }, areaStyle: { color: c[name] ?? c.other, opacity: 1, origin: 'start' }, itemStyle: { color: c[name] ?? c.other },
          data: steps(points, trace.classes.slice(0, i + 1)),
          markLine: name === trace.classes[0] && trace.limit ? { symbol: 'none', silent: true, label: { formatter: `limit ${bytes(trace.limit)}`, position: 'insideEndTop', color: c.bad, fontSize: 11.5 }, lineStyle: { color: c.bad, type: 'solid', width: 1.5 }, data: [{ yAxis: trace.limit }] } : undefined,
        })).reverse(),
      ],
    };
  }

  #bar(params, api, bar, c) {
    const [x1, y] = api.coord([bar.start, bar.lane]), [x2] = api.coord([bar.end, bar.lane]);
    const left = Math.max(params.coordSys.x, x1), right = Math.min(params.coordSys.x + params.coordSys.width, x2);
    if (right < left) return null;
    const marked = bar.slice && bar.slice === this.marked;
    const shape = { x: left, y: y - 9, width: Math.max(0.8, right - left), height: 18 };
    const rect = { type: 'rect', shape, style: { fill: c[bar.category], stroke: marked ? c.ink : null, lineWidth: marked ? 2 : 0 } };
    if (right - left < 46 || !bar.slice) return rect;
    return { type: 'group', children: [rect, { type: 'text', silent: true, style: { text: literal(bar.slice.name), x: left + 4, y, verticalAlign: 'middle', fill: this.#onColour(bar.category), font: '10.5px sans-serif', width: right - left - 8, overflow: 'truncate', ellipsis: '' } }] };
  }
  #onColour(category) { const dark = document.documentElement.dataset.theme === 'dark'; return dark ? (['host', 'other'].includes(category) ? '#ffffff' : '#0c1115') : ['in', 'other', 'recompute'].includes(category) ? '#15202b' : '#ffffff'; }

  #tip({ seriesId, data }) {
    if (seriesId !== 'bars') return '';
    const { bar } = data;
    if (!bar.slice) return tip(`${bar.count} slices`, [['begin', time(bar.start)], ['take', time(bar.end - bar.start)], ['', 'zoom in to see them']]);
    return tip(literal(bar.slice.name), facts(bar.slice, this.trace));
  }

  /** What lies in memory at a moment, the largest first. */
  #memoryTip(seconds) {
    const live = this.trace.at(seconds), c = colours();
    const sum = Object.values(live).reduce((a, b) => a + b, 0);
    const held = this.trace.classes.filter((name) => live[name]).sort((a, b) => live[b] - live[a]);
    return tip(`${bytes(sum)} at ${time(seconds)}`, [...held.map((name) => [word(name), bytes(live[name]), c[name]]), this.trace.limit ? ['of the limit', percent(sum / this.trace.limit)] : null]);
  }

  /** Shows all about a slice below the chart, with what it waited for to go on to. */
  mark(slice) {
    if (!slice) return;
    this.marked = slice;
    const cause = slice.args.by !== undefined ? this.trace.byInstruction.get(slice.args.by) : null;
    const stalls = slice.args.instruction === undefined || slice.measured ? [] : this.#stallsBy(slice.args.instruction);
    fill(this.detail, h('h4', {}, h('i', { class: 'key', style: `background:var(--${categoryOf(slice)})` }), literal(slice.name)),
      h('dl', {}, facts(slice, this.trace).flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
      cause ? h('button', { type: 'button', class: 'button', click: () => this.go(cause) }, `show the cause of the wait: ${literal(cause.name)}`) : null,
      stalls.length > 0 ? h('p', { class: 'note' }, `Compute waited for this: ${time(stalls.reduce((sum, s) => sum + s.end - s.start, 0))}.`) : null);
    this.chart.draw();
  }
  #stallsBy(instruction) { return this.trace.lanes.flatMap((lane) => lane.slices).filter((s) => s.cat === 'stall' && s.args.by === instruction); }

  /** Brings a slice into view and marks it. */
  go(slice) {
    const width = this.window[1] - this.window[0];
    const wanted = Math.max(20 * (slice.end - slice.start), this.trace.end / 60, Math.min(width, this.trace.end / 12));
    const middle = (slice.start + slice.end) / 2;
    this.#setWindow(middle - wanted / 2, middle + wanted / 2);
    this.mark(slice);
  }

  #setWindow(from, to) {
    const width = Math.min(to - from, this.trace.end);
    const start = Math.min(Math.max(0, from), this.trace.end - width);
    this.window = [start, start + width];
    this.chart.draw();
  }

  #zoomed() {
    const zoom = this.chart.instance.getOption().dataZoom[0];
    const [from, to] = [(zoom.start / 100) * this.trace.end, (zoom.end / 100) * this.trace.end];
    if (Math.abs(from - this.window[0]) + Math.abs(to - this.window[1]) < 1e-9) return;
    this.window = [from, to];
    clearTimeout(this.pending);
    this.pending = setTimeout(() => this.chart?.draw(), 90);
  }

  #key(event) {
    if (!this.chart) return;
    const [from, to] = this.window, width = to - from;
    const moves = { ArrowLeft: [-0.2, -0.2], ArrowRight: [0.2, 0.2], '+': [0.25, -0.25], '=': [0.25, -0.25], '-': [-0.5, 0.5] };
    if (event.key === '0') { this.#setWindow(0, this.trace.end); event.preventDefault(); return; }
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    this.#setWindow(from + move[0] * width, to + move[1] * width);
  }

  #find() {
    if (!this.trace || this.search.value === '') return;
    if (!this.hits || this.hits.word !== this.search.value) this.hits = { word: this.search.value, list: this.trace.find(this.search.value), at: -1 };
    if (this.hits.list.length === 0) { fill(this.status, `no op or map has ${literal(this.search.value)} in its name`); return; }
    this.hits.at = (this.hits.at + 1) % this.hits.list.length;
    this.go(this.hits.list[this.hits.at]);
    fill(this.status, `${this.hits.at + 1} of ${this.hits.list.length}; press Enter again for the next`);
  }
}

/** A staircase of what some classes have together: two points a step. */
function steps(points, classes) {
  const sum = (live) => classes.reduce((total, name) => total + (live[name] ?? 0), 0);
  return points.flatMap(([t, live], i) => (i === 0 ? [[t, sum(live)]] : [[t, sum(points[i - 1][1])], [t, sum(live)]]));
}

const laneName = (name, narrow) => {
  const plain = name.replace(/ \(stream \d+\)$/, '').replace(/^stalls of stream \d+$/, 'stalls').replace(/^(issue|waits)$/, 'host');
  return narrow ? plain : { compute: 'compute', stalls: 'compute waits', copies: 'copies', host: 'host' }[plain] ?? plain;
};
