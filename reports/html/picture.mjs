// Draws timelines one above another, to one scale of time, as an SVG on standard output: README's picture. It needs node
// and no package. Slices, colours and the memory curve are those of the page (src/trace.js, src/palette.js).
//   node picture.mjs TITLE TRACE.json [TITLE TRACE.json ...] >picture.svg
// The commands that make picture.svg are in tests/reports/html/picture_test.sh, which holds the committed file.
import { readFileSync } from 'node:fs';
import { LIGHT } from './src/palette.js';
import { barsOf, categoryOf, curveOf, Trace } from './src/trace.js';

const LEFT = 96, PLOT = 700, RIGHT = 14, LANE = 20, MEMORY = 70, TITLE = 26, GAP = 14, AXIS = 22, LEGEND = 24;
const ROWS = ['compute', 'copies'];
const MEANINGS = [['compute', 'kernels'], ['recompute', 'kernels that run again'], ['out', 'copies to the host, and waits for them'], ['in', 'copies back, and waits for them']];

const tenth = (value) => String(Math.round(value * 10) / 10);
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const rect = (x, y, width, height, fill) => `<rect x="${tenth(x)}" y="${tenth(y)}" width="${tenth(width)}" height="${tenth(height)}" fill="${fill}"/>`;
const text = (x, y, content, anchor = 'start', fill = LIGHT.ink) => `<text x="${tenth(x)}" y="${tenth(y)}" text-anchor="${anchor}" fill="${fill}">${escaped(content)}</text>`;

/** The row that a lane is drawn in: a stall is where no kernel of compute runs. Null: the host, which is not drawn. */
function rowOf(lane) {
  if (/^(compute|stalls)/.test(lane.name)) return 0;
  return /^(swap|copies)/.test(lane.name) ? 1 : null;
}

/** The bars of a trace, each row's in one path for each colour. */
function lanes(trace, top, scale) {
  const paths = new Map();
  for (const bar of barsOf(trace, 0, trace.end, trace.end * scale).bars) {
    const row = rowOf(trace.lanes[bar.lane]);
    if (row === null) continue;
    const key = bar.slice ? categoryOf(bar.slice) : bar.category;
    if (key === 'host') continue;  // microseconds each
    const x = LEFT + bar.start * scale, width = Math.max(0.4, (bar.end - bar.start) * scale);
    paths.set(key, `${paths.get(key) ?? ''}M${tenth(x)} ${top + row * LANE + 2}h${tenth(width)}v${LANE - 5}h-${tenth(width)}z`);
  }
  return [...paths].map(([category, path]) => `<path d="${path}" fill="${LIGHT[category]}"/>`).join('\n');
}

/** Live bytes over time, all classes together, below the limit. */
function memory(trace, top, scale) {
  const points = curveOf(trace, 0, trace.end, Math.floor(trace.end * scale / 1.5));
  const y = (bytes) => top + MEMORY * (1 - bytes / (trace.limit * 1.1));
  const sum = (live) => Object.values(live).reduce((a, b) => a + b, 0);
  let path = `M${LEFT} ${tenth(y(0))}`;
  for (const [seconds, live] of points) path += `H${tenth(LEFT + seconds * scale)}V${tenth(y(sum(live)))}`;
  const limit = tenth(y(trace.limit)), bytes = `${(trace.limit / 1e9).toFixed(1)} GB`;
  return `<path d="${path}V${tenth(y(0))}z" fill="${LIGHT.feature_map}"/>
<path d="M${LEFT} ${limit}H${LEFT + PLOT}" stroke="${LIGHT.bad}" fill="none"/>
${text(LEFT - 8, y(trace.limit) + 4, bytes, 'end', LIGHT.bad)}
${text(LEFT - 8, y(0) - 4, 'memory', 'end')}`;
}

const panels = [];
for (let i = 2; i + 1 < process.argv.length; i += 2) panels.push({ title: process.argv[i], trace: new Trace(readFileSync(process.argv[i + 1], 'utf8')) });
const end = Math.max(...panels.map(({ trace }) => trace.end)), scale = PLOT / end;
const panelHeight = TITLE + ROWS.length * LANE + MEMORY + GAP;
const height = LEGEND + panels.length * panelHeight + AXIS, width = LEFT + PLOT + RIGHT;

const drawn = panels.map(({ title, trace }, i) => {
  const top = LEGEND + i * panelHeight + TITLE;
  return [text(LEFT, top - 8, `${title}: ${trace.end.toFixed(2)} s a step`),
    ...ROWS.map((name, row) => text(LEFT - 8, top + row * LANE + 14, name, 'end')),
    lanes(trace, top, scale), memory(trace, top + ROWS.length * LANE, scale)].join('\n');
});
const ticks = Array.from({ length: Math.floor(end) + 1 }, (_, s) => text(LEFT + s * scale, height - 8, `${s} s`, 'middle', LIGHT.soft));
const legend = MEANINGS.map(([key, meaning], i) => rect(LEFT + [0, 80, 236, 490][i], 6, 10, 10, LIGHT[key]) + text(LEFT + [14, 94, 250, 504][i], 15, meaning));
console.log(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="11.5">
${rect(0, 0, width, height, LIGHT.paper)}
${[...legend, ...drawn, ...ticks].join('\n')}
</svg>`);
