// However much there is and however many pixels: at most so many bars, and every slice is in one of them.
const path = require('node:path');
const { check } = require('./browser.cjs');

async function merged(source) {
  const { Trace, barsOf, curveOf, MOST_BARS } = await import(path.join(source, 'trace.js'));
  const slices = 60000;  // three times MOST_BARS
  const traceEvents = [{ ph: 'M', name: 'thread_name', pid: 1, tid: 0, args: { name: 'compute (stream 0)' } }];
  for (let i = 0; i < slices; ++i) {
    traceEvents.push({ name: `op${i}`, cat: i % 50 === 0 ? 'recompute' : 'kernel', ph: 'X', pid: 1, tid: 0, ts: 2 * i, dur: 1.5, args: { instruction: i } });
    if (i % 3 === 0) traceEvents.push({ name: 'live memory', ph: 'C', pid: 1, tid: 0, ts: 2 * i, args: { feature_map: i } });
  }
  const trace = new Trace(JSON.stringify({ traceEvents }));
  for (const pixels of [300, 1100, 5e6]) {
    const { bars, merged: lost } = barsOf(trace, 0, trace.end, pixels);
    check(bars.length > 0 && bars.length <= MOST_BARS, `${bars.length} bars on ${pixels} pixels`);
    check(bars.reduce((sum, bar) => sum + bar.count, 0) === slices && bars.length + lost === slices, `no slice is lost on ${pixels} pixels`);
    check(curveOf(trace, 0, trace.end, Math.min(pixels, 4000)).length <= Math.min(pixels, 4000) + 2, 'the memory curve is as long as it is wide');
  }
  const close = barsOf(trace, 0.1, 0.1001, 1000);
  check(close.merged === 0 && close.bars.length >= 50, 'from near all slices are there');
}

module.exports = { merged };
