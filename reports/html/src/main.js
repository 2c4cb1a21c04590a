// The page: reads the files behind it and shows what is there.
import { bars } from './bars.js';
import { calibration } from './calibration.js';
import { redrawAll, resizeAll } from './chart.js';
import { curves } from './curves.js';
import { fill, h, literal, select } from './dom.js';
import * as files from './files.js';
import { helps } from './helps.js';
import { bytes } from './format.js';
import { memorySection } from './memory.js';
import { initTheme, isDark } from './palette.js';
import { matching, picker } from './picker.js';
import { showPlans } from './plan.js';
import { distinct, images, Results } from './rows.js';
import { columnMeanings, expectationsTable, resultsTable } from './table.js';
import { hasTrace, Timeline } from './timeline.js';
import { opsSection, rowNames } from './ops.js';
import { measuredOf, readValidation, validation } from './validation.js';
import { verdict } from './verdict.js';

const main = document.querySelector('main'), nav = document.querySelector('nav ul');

function section(id, title, lead, ...content) {
  const element = h('section', { id, 'aria-labelledby': `${id}-title` }, h('h2', { id: `${id}-title` }, title), lead ? h('p', { class: 'lead' }, lead) : null, ...content);
  main.append(element);
  nav.append(h('li', {}, h('a', { href: `#${id}` }, title)));
  return element;
}

function header(title, facts) {
  document.title = `${literal(title)} – Spillway`;
  fill(document.querySelector('header h1'), literal(title));
  fill(document.querySelector('header .facts'), facts.map((fact) => h('li', {}, fact)));
}

/** A point, by lists; what the page has no timeline of is marked. */
function pointPicker(results, start, onChange) {
  const running = results.rows.filter((row) => row.feasible);
  const keys = ['scenario', 'network', 'machine', 'memory_limit_bytes', 'batch', 'strategy'];
  const chosen = Object.fromEntries(keys.map((key) => [key, start[key]]));
  const box = h('span', {});
  const current = () => matching(running, chosen, keys)[0];
  const build = () => fill(box, picker(running, keys, chosen, () => onChange(current())));
  build();
  return { element: box, set: (row) => { for (const key of keys) chosen[key] = row[key]; build(); } };
}

function firstPoint(results) {
  const bests = results.rows.filter((row) => row.standing === 'best' && hasTrace(row.point));
  const swapping = bests.filter((row) => row.swap + row.recompute > 0);
  return swapping.find((row) => row.batch === median(distinct(swapping, 'batch'))) ?? swapping[0] ?? bests[0] ?? results.rows.find((row) => row.feasible);
}
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

function lookInside(results) {
  const start = firstPoint(results);
  if (!start) return { go() {} };
  const timeline = new Timeline(() => offer());
  const plans = h('div', { class: 'plans' });
  let row = start, other = null;
  const others = h('span', {});
  const candidates = () => results.rows.filter((r) => r.feasible && r !== row && r.network === row.network && r.batch === row.batch && r.memory_limit_bytes === row.memory_limit_bytes);
  const offer = () => {
    const list = candidates().sort((a, b) => hasTrace(b.point) - hasTrace(a.point));
    if (!list.includes(other)) other = list.find((r) => r.machine !== row.machine && r.strategy === row.strategy && hasTrace(r.point)) ?? list[0] ?? null;
    fill(others, select('compare with', [[null, 'no other plan'], ...list.map((r) => [r, `${literal(r.strategy)} on ${literal(r.machine)}${hasTrace(r.point) ? '' : ' (not in the page)'}`])], other, (chosen) => { other = chosen; showPlans(plans, row, other); }));
    showPlans(plans, row, other);
  };
  const change = (next) => { row = next; timeline.show(row); offer(); };
  const first = pointPicker(results, start, change);
  const element = section('timeline', 'Timeline', 'One step of one plan: kernels and copies on each stream, the reasons why compute waits, and the contents of device memory.', h('div', { class: 'controls' }, first.element), timelineLegend(), timeline.element);
  section('plan', 'Plan', 'Every feature map between forward and backward pass, in the order of the step: kept, swapped or recomputed. The width of a map is its size.', h('div', { class: 'controls' }, others), plans);
  offer();
  timeline.show(row);
  return { go(next) { first.set(next); change(next); element.scrollIntoView({ behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' }); } };
}

const timelineLegend = () => h('ul', { class: 'legend' }, [['compute', 'compute'], ['recompute', 'recompute'], ['out', 'swap-out, waits for swap-outs'], ['in', 'swap-in, waits for swap-ins'], ['host', 'host, waits for the host'], ['other', 'other waits']].map(([key, name]) => h('li', {}, h('i', { style: `background:var(--${key})` }), name)));

async function showRun() {
  const results = new Results(JSON.parse(await files.text('results.json')));
  if (results.rows.length === 0) { header('no rows', []); return; }
  const first = results.rows[0];
  header(distinct(results.rows, 'scenario').join(', '), [
    `${distinct(results.rows, 'network').map(literal).join(', ')}, ${distinct(results.rows, 'precision').join(', ')}`,
    `${results.rows.length} points: ${results.strategies.length} strategies on ${results.machines.length} machine${results.machines.length > 1 ? 's' : ''}`,
    'predicted, not measured']);
  let inside = { go() {} };
  const go = (row) => inside.go(row);
  section('verdict', 'Verdict', null, verdict(results));
  section('time', 'Where the time goes', 'Each bar is one step; choose a bar to see its timeline. ★ marks the fastest strategy, = a strategy that cannot be told apart from the fastest. The number after a bar is the throughput.', bars(results, go));
  const help = helps(results);
  if (help) section('helps', 'What would help', 'The fastest strategy of each batch, machine and limit, planned again.', help);
  const over = curves(results, go);
  if (over) section('throughput', 'Throughput', `In ${images(first)}. Shaded: 80 % intervals of the predictions, from errors of the op costs and the host’s time. All machines have the same axes.`, over);
  inside = lookInside(results);
  const tables = [resultsTable(results, go), columnMeanings(results)];
  if (results.expectations.length > 0) tables.push(h('h3', {}, 'Published figures and ours'), expectationsTable(results));
  section('tables', 'Tables', 'The numbers of results.csv and expectations.csv; click the head of a column to sort the rows.', tables);
}

async function showValidation() {
  const content = await files.text('validation.csv');
  const falsification = files.has('falsification.csv') ? await files.text('falsification.csv') : null;
  const rows = readValidation(content);
  if (!files.has('results.json')) {
    const all = (key) => distinct(rows, key).map(literal).join(', ');
    header(rows.length > 0 ? all('scenario') : 'Validation', [`${all('network')} on ${all('machine')}`, `${rows.length} plans, predicted and measured on ${all('device')}`]);
  }
  section('validation', 'Predicted against measured', null, validation(content, falsification));
  const measured = measuredOf(rows);
  const ops = await opsSection(measured);
  if (ops) section('ops', 'Op by op', 'Each kernel and copy of the plans that ran: the predicted time, as if nothing else ran, against the time measured in the step.', ops);
  measuredTimeline(measured.filter((row) => row.point));
}

/** A step as it was predicted, above the same as it ran. */
function measuredTimeline(rows) {
  const start = rows.find((row) => hasTrace(row.point));
  if (!start) return;
  const timeline = new Timeline(() => {}), names = rowNames(rows);
  const plans = select('plan', rows.map((row) => [row, `${names.get(row)}${hasTrace(row.point) ? '' : ' (not in the page)'}`]), start, (row) => timeline.show(row));
  section('measured-timeline', 'Timeline, predicted and measured', 'One step of one plan: predicted above, measured below. The measured step has the median time of the steps that ran with instruments. The memory curve is predicted.', h('div', { class: 'controls' }, plans), timelineLegend(), timeline.element);
  timeline.show(start);
}

async function showCalibration() {
  header('Calibration', ['measured on this machine']);
  section('calibration', 'Samples and models', null, calibration(await files.text('calibration.csv')));
}

async function showMemory() {
  const memory = JSON.parse(await files.text('memory.json'));
  header(memory.network, [`batch ${memory.batch}, ${memory.calls} calls`, `recorded on ${literal(memory.device || 'a device without a name')}`]);
  const where = memory.peak.module ? `, in ${literal(memory.peak.module)}` : '';
  section('memory', 'Memory over the step', `With everything on the device the peak is ${bytes(memory.peak.bytes)}, at ${literal(memory.peak.name)}${where}.`, memorySection(memory));
}

async function start() {
  const button = document.querySelector('#theme');
  const toggle = initTheme(() => { button.textContent = isDark() ? 'light' : 'dark'; redrawAll(); });
  button.addEventListener('click', toggle);
  // Paper is light, and narrower: charts have its width before the browser lays it out.
  const { dataset } = document.documentElement;
  let onScreen = null;
  addEventListener('beforeprint', () => { onScreen = dataset.theme; dataset.theme = 'light'; dataset.paper = 'yes'; resizeAll(); });
  addEventListener('afterprint', () => { dataset.theme = onScreen; delete dataset.paper; resizeAll(); });
  try {
    if (files.has('results.json')) await showRun();
    if (files.has('validation.csv')) await showValidation();
    if (files.has('calibration.csv')) await showCalibration();
    if (files.has('memory.json')) await showMemory();
  } catch (error) {
    main.prepend(h('p', { class: 'warning' }, `This page cannot show its results: ${error.message}`));
    throw error;
  } finally {
    document.documentElement.dataset.ready = 'yes';
  }
}

start();
