// What would help: the fastest strategy of each place planned again with more memory, and behind a faster link.
import { h, literal } from './dom.js';
import { bytes, listed, percent, rate, short } from './format.js';
import { distinct, images } from './rows.js';

const WORTH_SAYING = 0.005; // of the throughput

/** By how much the step is faster; a plan that has room does not get worse by more of it. */
const gain = (now, then) => (then === null || then === undefined ? 0 : Math.max(0, now / then - 1));

/** The results' answers with their rows: what is asked about a place and by how much it gets faster. */
export function answersOf(results) {
  return results.helps.flatMap((help) => {
    const row = results.byPoint.get(help.point);
    if (!row) return [];
    return [{
      row, more: help.more_bytes, gain: gain(row.step_time_s, help.memory_step_time_s),
      most: help.memory_lower_bound_s > 0 ? gain(row.step_time_s, help.memory_lower_bound_s) : null,
      link: help.link > 0 ? { rate: help.link, faster: help.faster_link, gain: gain(help.link_step_time_s, help.faster_link_step_time_s), free: help.copies_free_from } : null,
    }];
  });
}

export const inWords = (gained) => (gained < WORTH_SAYING ? 'nothing' : `${percent(gained)}`);

/** One sentence for a machine's card. @param {{row: Object, more: number, gain: number}[]} answers of its places, one network's @param {string} network whose, before "batch" */
export function memorySentence(answers, network = '') {
  if (answers.length === 0) return null;
  const asked = [...answers].sort((a, b) => a.row.batch - b.row.batch);
  const helped = asked.filter((answer) => answer.gain >= WORTH_SAYING);
  const name = h('b', {}, `${moreText(asked[0].more)} more memory`);
  const batches = (some) => listed(some.map((answer) => String(answer.row.batch)));
  if (helped.length === 0) return h('p', {}, name, `, planned again: nothing gets faster at ${network}batch ${batches(asked)}.`);
  const last = helped[helped.length - 1];
  const parts = helped.map((answer, i) => `${percent(answer.gain)} ${i === 0 ? `faster at ${network}batch` : 'at'} ${answer.row.batch}`);
  const others = asked.filter((answer) => !helped.includes(answer));
  return h('p', {}, name, `, planned again: ${listed(parts)} (${short(last.row.samples_per_second)} to ${short(last.row.samples_per_second * (1 + last.gain))} ${images(last.row)})${others.length > 0 ? `; nothing at ${batches(others)}` : ''}.`);
}

/** Whose batches stand together: "net on box, 15.6 GB + 4 GB". */
function placeOf({ row, more }, results) {
  const named = ['scenario', 'network'].filter((key) => distinct(results.rows, key).length > 1).map((key) => `${literal(row[key])}, `);
  return `${named.join('')}${literal(row.machine)}, ${bytes(row.memory_limit_bytes)} + ${moreText(more)}`;
}

const moreText = (more) => bytes(more).replace(/\.0+(?=\D)/, '');

/** Limits below the one of these results: whatever machine it is, it has those. */
function limitsHint(results) {
  const limits = distinct(results.rows, 'memory_limit_bytes');
  if (limits.length !== 1 || !(limits[0] > 4e6) || !results.rows.some((row) => row.feasible)) return null;
  const below = (part) => {
    const [unit, name] = limits[0] * part >= 1e10 ? [1e9, 'GB'] : limits[0] * part >= 1e7 ? [1e6, 'MB'] : [1e3, 'kB'];
    return `${Math.floor(Number((limits[0] * part / unit).toPrecision(2)))} ${name}`;
  };
  return h('p', { class: 'note' }, 'To compare other limits, list them in the scenario: ', h('code', {}, `memory: [${below(0.5)}, ${below(0.75)}]`),
    '. A limit above the memory of a machine is cut to that memory.');
}

/** @param {import('./rows.js').Results} results @returns {HTMLElement[]|null} null: nothing was asked */
export function helps(results) {
  const answers = answersOf(results);
  if (answers.length === 0) return null;
  const links = answers.some((answer) => answer.link);
  const column = (text, number = true) => h('th', { scope: 'col', class: number ? 'n' : null }, text);
  const cell = (text, good = false) => h('td', { class: `n${good ? ' good' : ''}` }, text);
  const line = ({ row, gain: gained, most, link }) => h('tr', {},
    cell(String(row.batch)), h('td', {}, literal(row.strategy)), cell(short(row.samples_per_second)), cell(short(row.samples_per_second * (1 + gained))),
    cell(inWords(gained), gained >= WORTH_SAYING), cell(most === null ? '–' : most < WORTH_SAYING ? 'nothing' : percent(most)),
    links ? (link ? [cell(`${short(link.rate / 1e9)} to ${rate(link.faster)}`), cell(inWords(link.gain), link.gain >= WORTH_SAYING), cell(link.free > 0 ? rate(link.free) : '–')] : [cell('–'), cell('–'), cell('–')]) : []);
  const head = [column('batch'), column('fastest', false), column(`${images(answers[0].row)} now`), column('planned again'), column('gains'), column('at most'),
    ...(links ? [column('link'), column('gains'), column('copies free from')] : [])];
  const groups = distinct(answers.map((answer) => ({ ...answer, place: placeOf(answer, results) })), 'place');
  const lines = groups.flatMap((place) => [h('tr', { class: 'place' }, h('th', { scope: 'rowgroup', colspan: head.length }, place)),
    ...answers.filter((answer) => placeOf(answer, results) === place).map(line)]);
  return [h('div', { class: 'scroll' }, h('table', { class: 'helps' }, h('caption', {}, 'what would help'), h('thead', {}, h('tr', {}, head)), h('tbody', {}, lines))),
    h('p', { class: 'note' }, 'Each line plans the strategy that is fastest now again, with that much more memory', links ? ' and then with a link an eighth faster' : '', '; everything else stays. At most: the largest gain that the lower bound with that memory allows, for plans with the algorithms and workspaces that the strategy may choose. ',
      links ? 'Copies free from: the link rate at which swapping every feature map costs less than 1 %. ' : null), limitsHint(results)];
}
