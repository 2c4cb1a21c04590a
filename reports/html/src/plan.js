// A plan as a strip: every feature map in the order of the step, as wide as it is large.
import { fill, h, literal } from './dom.js';
import { bytes, time } from './format.js';
import { tracedOrWhy } from './timeline.js';

const CLASSES = [['keep', 'kept'], ['swap', 'swapped'], ['recompute', 'recomputed']];
const WIDTH = 1000, HEIGHT = 34, COST = 26;

const MEANING_OF_R = ' (r: time to recompute the map / time the step would save if the map’s copies took no time)';

function totals(maps) {
  return CLASSES.map(([key, name]) => {
    const own = maps.filter((map) => map.class === key);
    return own.length === 0 ? null : `${own.length} ${name} (${bytes(own.reduce((sum, map) => sum + map.bytes, 0))})`;
  }).filter(Boolean).join(', ');
}

function says(map) {
  const swap = map.copy_out_ns + map.copy_in_ns;
  const parts = map.parts > 1 ? `, written in ${map.parts} parts` : '';
  return [h('b', {}, literal(map.name)), ` ${map.shape}, ${bytes(map.bytes)}: ${map.class === 'keep' ? 'kept' : `${map.class === 'swap' ? 'swapped' : 'recomputed'}`}${parts}`,
    `. Copying the map out and in takes ${time(swap / 1e9)}; ${map.again_ns > 0 ? `recomputing the map takes ${time(map.again_ns / 1e9)}, if its inputs are on the device` : 'the map cannot be recomputed'}.`,
    map.reason ? ` Why: ${literal(map.reason)}${map.reason.startsWith('r = ') ? MEANING_OF_R : ''}.` : ''];
}

function strip(row, trace, other, line) {
  const { maps } = trace;
  const all = maps.reduce((sum, map) => sum + map.bytes, 0);
  const most = Math.max(...maps.map((map) => Math.max(map.copy_out_ns + map.copy_in_ns, map.again_ns)), 1);
  const differs = new Set(other ? maps.filter((map) => { const same = other.maps.find((m) => m.name === map.name); return same && same.class !== map.class; }).map((m) => m.name) : []);
  const svg = h('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT + COST + 10}`, class: 'strip', preserveAspectRatio: 'none', role: 'listbox', tabindex: 0, 'aria-label': `plan of ${row.strategy}: ${totals(maps)}` });
  let x = 0;
  const rects = maps.map((map, i) => {
    const width = (map.bytes / all) * (WIDTH - maps.length * 0.6) + 0.6;
    const swap = ((map.copy_out_ns + map.copy_in_ns) / most) * COST, again = (map.again_ns / most) * COST;
    const rect = h('rect', { x, y: 6, width: Math.max(0.5, width - 0.5), height: HEIGHT, class: `map ${map.class}${differs.has(map.name) ? ' differs' : ''}`, 'data-index': i });
    svg.append(rect,
      h('rect', { x, y: HEIGHT + 8, width: Math.max(0.4, width / 2 - 0.3), height: swap, class: 'cost swap' }),
      h('rect', { x: x + width / 2, y: HEIGHT + 8, width: Math.max(0.4, width / 2 - 0.3), height: again, class: 'cost recompute' }));
    if (differs.has(map.name)) svg.append(h('rect', { x, y: 0, width: Math.max(0.8, width - 0.5), height: 4, class: 'difference' }));
    x += width;
    return rect;
  });
  let at = -1;
  const show = (i) => {
    rects[at]?.classList.remove('chosen');
    at = Math.min(Math.max(0, i), maps.length - 1);
    rects[at].classList.add('chosen');
    fill(line, says(maps[at]));
  };
  svg.addEventListener('pointermove', (event) => {
    const box = svg.getBoundingClientRect();
    const wanted = ((event.clientX - box.left) / box.width) * WIDTH;
    const i = rects.findLastIndex((rect) => Number(rect.getAttribute('x')) <= wanted);
    if (i >= 0) show(i);
  });
  svg.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(at + step);
  });
  return { figure: h('figure', { class: 'plan' }, h('figcaption', {}, h('b', {}, literal(row.strategy)), ` ${literal(row.machine)}, batch ${row.batch}: ${totals(maps)}`), svg), differs };
}

const asked = new WeakMap(); // by box, how often

/** @param {HTMLElement} box @param {Object} row @param {Object|null} other the row whose plan is compared with */
export async function showPlans(box, row, other) {
  const turn = (asked.get(box) ?? 0) + 1;
  asked.set(box, turn);
  const absent = (one) => `The page lacks the plan of ${literal(one.strategy)}; the file plans/${one.point}.yaml has it.`;
  const { trace, why } = await tracedOrWhy(row.point, absent(row));
  const { trace: second, why: secondWhy } = other ? await tracedOrWhy(other.point, absent(other)) : { trace: null, why: '' };
  if (asked.get(box) !== turn) return; // another was asked for meanwhile
  if (!trace || trace.maps.length === 0) { fill(box, h('p', { class: 'note' }, why || absent(row))); return; }
  const line = h('p', { class: 'says', 'aria-live': 'polite' }, 'Point at a map, or use ← →, to see its costs and the reason for the decision.');
  const first = strip(row, trace, second, line);
  const parts = [first.figure];
  if (second && second.maps.length > 0) {
    parts.push(strip(other, second, trace, line).figure);
    const differing = trace.maps.filter((map) => first.differs.has(map.name));
    const faster = row.step_time_s <= other.step_time_s ? [row, other] : [other, row];
    const gained = faster[1].step_time_s - faster[0].step_time_s;
    parts.push(h('p', { class: 'note' }, differing.length === 0 && trace.maps.length === second.maps.length ? 'The two plans decide the same about every map.'
      : `The plans differ in ${differing.length} of ${trace.maps.length} maps, ${bytes(differing.reduce((sum, map) => sum + map.bytes, 0))}; ${literal(faster[0].strategy)} on ${literal(faster[0].machine)} is ${time(gained)} a step faster.`));
    parts.push(differenceTable(differing, second));
  } else if (other) parts.push(h('p', { class: 'note' }, secondWhy || absent(other)));
  fill(box, parts, line, legend());
}

function differenceTable(maps, second) {
  if (maps.length === 0) return null;
  const rows = [...maps].sort((a, b) => b.bytes - a.bytes).slice(0, 12);
  return h('details', {}, h('summary', {}, `the ${rows.length === maps.length ? '' : 'largest '}${rows.length} maps that differ`), h('div', { class: 'scroll' }, h('table', {},
    h('thead', {}, h('tr', {}, [['map'], ['size', 'n'], ['upper plan'], ['lower plan'], ['copies', 'n'], ['recompute', 'n']].map(([text, kind]) => h('th', { class: kind ?? null }, text)))),
    h('tbody', {}, rows.map((map) => h('tr', {}, h('td', {}, literal(map.name)), h('td', { class: 'n' }, bytes(map.bytes)), h('td', {}, map.class), h('td', {}, second.maps.find((m) => m.name === map.name).class), h('td', { class: 'n' }, time((map.copy_out_ns + map.copy_in_ns) / 1e9)), h('td', { class: 'n' }, time(map.again_ns / 1e9))))))));
}

const legend = () => h('ul', { class: 'legend' }, CLASSES.map(([key, name]) => h('li', {}, h('i', { style: `background:var(--${key})` }), name)),
  h('li', {}, 'below each map, on one scale: time to copy the map out and in (left), time to recompute the map (right)'), h('li', {}, h('i', { class: 'bound flat' }), 'the other plan decides otherwise'));
