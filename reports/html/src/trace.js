// A timeline as reports/trace/trace.h describes it, ready to be drawn.

/**
 * @typedef {{name: string, cat: string, start: number, end: number, lane: number, args: Object, index: number}} Slice
 * times in seconds
 */
export class Trace {
  /** @param {string} content JSON */
  constructor(content) {
    const document = JSON.parse(content);
    this.head = document.otherData ?? {};
    this.maps = this.head.maps ?? [];
    /** @type {{name: string, key: string, slices: Slice[]}[]} */
    this.lanes = [];
    this.byInstruction = new Map();
    this.memory = []; // [seconds, {class: bytes}]
    this.limit = this.head.memory_limit_bytes ?? null;
    this.end = 0;
    const lanes = new Map();
    for (const event of document.traceEvents) {
      if (event.ph === 'M' && event.name === 'process_name' && event.args.name.endsWith(' (measured)')) this.#measured.add(String(event.pid));
      if (event.ph === 'M' && event.name === 'thread_name') lanes.set(`${event.pid}/${event.tid}`, { name: event.args.name, key: `${event.pid}/${event.tid}`, slices: [] });
      if (event.ph === 'X') this.#slice(event, lanes);
      if (event.ph === 'C' && event.name === 'live memory') this.memory.push([event.ts / 1e6, event.args]);
    }
    for (const lane of lanes.values()) lane.measured = this.#measured.has(lane.key.split('/')[0]);
    this.lanes = [...lanes.values()].filter((lane) => lane.slices.length > 0).sort((a, b) => order(a) - order(b));
    this.lanes.forEach((lane, i) => lane.slices.forEach((slice) => { slice.lane = i; }));
    this.classes = [...new Set(this.memory.flatMap(([, live]) => Object.keys(live)))].filter((name) => this.memory.some(([, live]) => live[name] > 0));
    this.classes.sort((a, b) => this.#most(b) - this.#most(a));
  }
  #measured = new Set(); // processes that were measured; all others were predicted
  #most(name) { return this.memory.reduce((most, [, live]) => Math.max(most, live[name] ?? 0), 0); }
  #slice(event, lanes) {
    const slice = { name: event.name, cat: event.cat, start: event.ts / 1e6, end: (event.ts + event.dur) / 1e6, lane: 0, args: event.args ?? {}, key: `${event.pid}/${event.tid}` };
    lanes.get(slice.key)?.slices.push(slice);
    this.end = Math.max(this.end, slice.end);
    const work = slice.cat === 'kernel' || slice.cat === 'recompute' || slice.cat === 'copy';
    slice.measured = this.#measured.has(String(event.pid));
    if (work && !slice.measured) this.byInstruction.set(slice.args.instruction, slice);
  }
  /** Bytes by class at a moment. */
  at(seconds) {
    let low = 0, high = this.memory.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.memory[middle][0] <= seconds) low = middle + 1; else high = middle;
    }
    return low === 0 ? {} : this.memory[low - 1][1];
  }
  /** Slices whose names have this in them: what is called so before what only begins so, work before waits for it. */
  find(word) {
    const wanted = word.toLowerCase();
    const hits = this.lanes.flatMap((lane) => lane.slices.filter((slice) => slice.cat !== 'issue' && slice.name.toLowerCase().includes(wanted)));
    const called = (slice) => slice.name.toLowerCase().replace(/^(waits for )?((recompute|swap-in|swap-out) )?/, '').split(':')[0] === wanted;
    const rank = (slice) => (called(slice) ? 0 : 3) + ({ stall: 1, host: 2 }[slice.cat] ?? 0);
    return hits.sort((a, b) => rank(a) - rank(b) || a.start - b.start);
  }
  /** What a compute stream did when a stall of it had ended. */
  heldUp(stall) {
    const own = this.lanes.find((lane) => lane.slices[0].key === stall.key), stream = own?.name.match(/^stalls of (stream \d+)$/)?.[1];
    const compute = this.lanes.find((lane) => lane.name === `compute (${stream})` && lane.key.split('/')[0] === own.key.split('/')[0]);
    return compute?.slices[firstAfter(compute.slices, stall.end)] ?? null;
  }
}

// Compute, its stalls, copies, the host; what was measured below what was predicted.
function order(lane) { return orderOf(lane) + (lane.measured ? 10 : 0); }
function orderOf(lane) {
  if (lane.name.startsWith('compute')) return 0;
  if (lane.name.startsWith('stalls')) return 1;
  if (lane.name.startsWith('swap-out')) return 2;
  if (lane.name.startsWith('swap-in') || lane.name.startsWith('copies')) return 3;
  return 4;
}

export const categoryOf = (slice) => {
  if (slice.cat === 'kernel') return 'compute';
  if (slice.cat === 'recompute') return 'recompute';
  if (slice.cat === 'copy') return slice.name.startsWith('swap-in') ? 'in' : 'out';
  if (slice.cat === 'stall') return { 'swap-in': 'in', 'swap-out': 'out', host: 'host', barrier: 'host' }[slice.args.cause] ?? 'other';
  return slice.cat === 'host' ? 'other' : 'host';
};

export const MOST_BARS = 20000;

/**
 * What is drawn of [from, to] on so many pixels: slices below a pixel that lie side by side become one.
 * @returns {{bars: {slice: Slice|null, lane: number, start: number, end: number, category: string, count: number}[], merged: number}}
 */
export function barsOf(trace, from, to, pixels) {
  let least = (to - from) / Math.max(1, pixels);
  for (;;) {
    const bars = [];
    let merged = 0;
    for (const lane of trace.lanes) {
      let open = null;
      for (let k = firstAfter(lane.slices, from); k < lane.slices.length && lane.slices[k].start < to; ++k) {
        const slice = lane.slices[k], category = categoryOf(slice);
        if (slice.end - slice.start >= least) { open = null; bars.push({ slice, lane: slice.lane, start: slice.start, end: slice.end, category, count: 1 }); continue; }
        if (open && open.category === category && slice.end - open.start < 2 * least && slice.start - open.end < least) {
          open.end = slice.end; open.slice = null; ++open.count; ++merged;
          continue;
        }
        open = { slice, lane: slice.lane, start: slice.start, end: slice.end, category, count: 1 };
        bars.push(open);
      }
    }
    if (bars.length <= MOST_BARS) return { bars, merged };
    least *= 2;
  }
}

function firstAfter(slices, from) {
  let low = 0, high = slices.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (slices[middle].end <= from) low = middle + 1; else high = middle;
  }
  return low;
}

/** The memory curve in so many columns: of each the moment with most, as if it lasted; corners closer than that are lost in drawing. */
export function curveOf(trace, from, to, columns) {
  const total = ([, live]) => { let sum = 0; for (const name in live) sum += live[name]; return sum; };
  const points = [];
  const width = (to - from) / Math.max(1, columns);
  let bucket = -1, best = null;
  const flush = () => { if (best) points.push([Math.max(from, from + bucket * width), best[1]]); best = null; };
  for (const point of trace.memory) {
    if (point[0] > to) break;
    const b = point[0] < from ? -1 : Math.floor((point[0] - from) / width);
    if (b !== bucket) { flush(); bucket = b; }
    if (b < 0) best = point; else if (!best || total(point) >= total(best)) best = point;
  }
  flush();
  if (points.length > 0) points.push([to, points[points.length - 1][1]]);
  return points;
}
