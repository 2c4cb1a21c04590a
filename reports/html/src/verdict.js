// What came out, in sentences: who wins where, what could not be told apart, why the others lose, and how sure it is.
import { h, literal } from './dom.js';
import { answersOf, memorySentence } from './helps.js';
import { bytes, listed, percent, rate, short, span, time } from './format.js';
import { distinct, images, OTHER_NUMBERS, reasonText, throughputInterval } from './rows.js';
import { strategyList } from './strategies.js';

const MOST_SETTINGS = 3; // networks of which more memory is told
const MOST_TOLD = 4; // machines and limits; beyond, the curves say it better

/** Rows of one machine and memory limit, by network and batch: [{batch, rows, best, tied}], batches of a network ascending. */
function placesOf(rows) {
  const places = new Map();
  for (const row of rows) {
    const key = `${row.scenario}\n${row.network}\n${row.batch}`;
    if (!places.has(key)) places.set(key, { setting: `${row.scenario}\n${row.network}`, network: row.network, batch: row.batch, rows: [] });
    places.get(key).rows.push(row);
  }
  for (const place of places.values()) {
    place.best = place.rows.find((row) => row.standing === 'best') ?? null;
    place.tied = tied(place.rows);
  }
  const settings = distinct([...places.values()], 'setting');
  return [...places.values()].sort((a, b) => settings.indexOf(a.setting) - settings.indexOf(b.setting) || a.batch - b.batch);
}

/** The strategies that nobody could tell from the fastest, it among them. */
export const tied = (rows) => rows.filter((row) => row.standing === 'best' || row.standing === 'equal').map((row) => row.strategy);

/** Runs of neighbouring batches with the same winner; of two that are fastest to the nanosecond the one that was before. */
function runsOf(places) {
  const runs = [];
  for (const place of places) {
    const last = runs[runs.length - 1];
    const again = last && last.setting === place.setting && place.rows.find((row) => row.standing === 'best' && row.strategy === last.winner);
    if (again) place.best = again;
    const winner = place.best?.strategy ?? null;
    if (last && last.winner === winner && last.setting === place.setting) last.places.push(place);
    else runs.push({ winner, setting: place.setting, network: place.network, places: [place] });
  }
  return runs;
}

function speed(row) {
  const [low, high] = throughputInterval(row);
  return `${short(row.samples_per_second)} ${images(row)} (80 %: ${short(low)} to ${short(high)})`;
}

const placeText = (place, oneNetwork) => `${oneNetwork ? '' : `${literal(place.network)}, `}batch ${place.batch}`;

/** Of rows that do not run the one that asks for least, by what its reason says. */
function nearest(rows) {
  const units = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
  const need = (row) => {
    const found = row.reason.match(/needs ([\d.]+) (B|kB|MB|GB|TB)\b/);
    return found ? Number(found[1]) * units[found[2]] : Infinity;
  };
  return rows.reduce((a, b) => (need(b) < need(a) ? b : a));
}

/** "a and b; at 256 also c": who else could have been named. */
function tiesText(run) {
  const names = [...new Set(run.places.flatMap((place) => place.tied))].filter((name) => name !== run.winner);
  const always = names.filter((name) => run.places.every((place) => place.tied.includes(name)));
  const parts = always.length > 0 ? [`Cannot be told apart from the fastest: ${listed(always.map(literal))}`] : [];
  for (const name of names.filter((one) => !always.includes(one))) {
    const at = run.places.filter((place) => place.tied.includes(name)).map((place) => String(place.batch));
    parts.push(`${parts.length === 0 ? 'Cannot be told apart from the fastest ' : ''}at ${listed(at)}: ${literal(name)}`);
  }
  return parts.length > 0 ? ` ${parts.join('; ')}.` : '';
}

/** Who would be faster and computes something else. */
function othersText(run) {
  const { best, rows } = run.places[run.places.length - 1];
  const faster = rows.filter((row) => row.feasible && row.standing in OTHER_NUMBERS && (!best || row.step_time_s < best.step_time_s));
  if (faster.length === 0) return '';
  const row = faster.reduce((a, b) => (b.step_time_s < a.step_time_s ? b : a));
  return ` ${literal(row.strategy)} ${best ? 'is faster' : 'runs'} at ${row.batch} with ${short(row.samples_per_second)} ${images(row)}, but ${OTHER_NUMBERS[row.standing]}.`;
}

function winnerSentence(run, oneNetwork) {
  const where = `${oneNetwork ? '' : `${literal(run.network)}, `}batch ${span(run.places.map((place) => place.batch))}`;
  if (run.winner === null && run.places.some((place) => place.rows.some((row) => row.feasible))) {
    return h('li', {}, h('b', {}, 'No strategy runs with the results of the whole batch'), ` at ${where}.`, othersText(run));
  }
  if (run.winner === null) {
    const row = nearest(run.places[0].rows);
    const which = run.places[0].rows.length > 1 ? `${literal(row.strategy)} ${run.places.length > 1 ? `at ${row.batch} ` : ''}is nearest: ` : '';
    return h('li', {}, h('b', {}, 'No strategy runs'), ` at ${where}: ${which}${literal(reasonText(row))}.`);
  }
  const last = run.places[run.places.length - 1];
  const at = run.places.length > 1 ? `, ${speed(last.best)} at ${last.batch}` : `: ${speed(last.best)}`;
  return h('li', {}, h('b', {}, literal(run.winner)), ` is fastest at ${where}${at}.`, tiesText(run), othersText(run));
}

const CAUSES = [['stall_out_s', 'waits for swap-outs'], ['stall_in_s', 'waits for swap-ins'], ['recompute_time_s', 'recomputes'], ['stall_host_s', 'waits for the host'], ['other_s', 'is slowed down by copies and other waits']];

const WORTH_SAYING = 0.02; // of the step

/** Why a row is not as fast as training in core would be: what takes time beside its kernels, the largest part first. */
export function whySlow(row) {
  const told = CAUSES.filter(([key]) => row[key] >= WORTH_SAYING * row.step_time_s).sort((a, b) => row[b[0]] - row[a[0]]).slice(0, 2);
  if (told.length === 0) return 'kernels take all of its time';
  const copied = row.bytes_out + row.bytes_in;
  const moves = told.some(([key]) => key === 'stall_out_s' || key === 'stall_in_s')
    ? `: the plan moves ${bytes(row.bytes_out)} out and ${bytes(row.bytes_in)} in over a link of ${rate(row.link)}${/\b1 copy stream\b/.test(row.bound_scope) ? ', one copy at a time' : ''}, ${time(copied / row.link)} of copying against ${time(row.compute_time_s)} of computing` : '';
  return `the step of ${time(row.step_time_s)} ${listed(told.map(([key, words]) => `${words} for ${time(row[key])}`))}${moves}`;
}

function slowest(places, oneNetwork) {
  const last = [...places].reverse().find((place) => place.best && place.rows.some((r) => r.feasible && r.step_time_s > 1.25 * place.best.step_time_s));
  if (!last) return null;
  const row = last.rows.filter((r) => r.feasible).reduce((a, b) => (b.step_time_s > a.step_time_s ? b : a));
  return h('p', {}, `Slowest at ${placeText(last, oneNetwork)}: `, h('b', {}, literal(row.strategy)), ` with ${short(row.samples_per_second)} ${images(row)}: ${whySlow(row)}.`);
}

/** Of the same place the fastest row with more memory. */
function withMore(best, results) {
  const more = results.rows.filter((row) => row.feasible && row.memory_limit_bytes > best.memory_limit_bytes
    && ['scenario', 'network', 'batch', 'machine'].every((key) => row[key] === best[key]));
  // Of equally fast ones that with least memory.
  return more.length === 0 ? null : more.reduce((a, b) => (b.step_time_s < a.step_time_s || (b.step_time_s === a.step_time_s && b.memory_limit_bytes < a.memory_limit_bytes) ? b : a));
}

/** What more memory brings: planned again, or as another limit of the results has it; and what no memory can bring. */
function moreMemory(places, results, answers, oneNetwork) {
  const last = [...places].reverse().find((place) => place.best);
  if (!last) return null;
  const { best } = last, where = placeText(last, oneNetwork);
  const own = (setting) => answers.filter(({ row }) => places.some((place) => place.setting === setting && place.rows.includes(row)));
  const sentences = distinct(places, 'setting').slice(-MOST_SETTINGS).map((setting) => memorySentence(own(setting), oneNetwork ? '' : `${literal(setting.split('\n')[1])}, `)).filter(Boolean);
  if (sentences.length > 0) return [...sentences, ceiling(last, where, own(last.setting).find(({ row }) => row === best)?.gain)];
  const more = withMore(best, results);
  if (!more) return ceiling(last, where);
  const gain = best.step_time_s / more.step_time_s - 1;
  return h('p', {}, gain >= 0.005 ? `With ${bytes(more.memory_limit_bytes)}, ${where} would run ${percent(gain)} faster, with ${literal(more.strategy)}.` : `None of the larger limits here makes ${where} faster.`);
}

/** However much memory: the kernels of the fastest plan have to run, unless so much memory as was asked about allows faster ones. */
function ceiling({ best, rows }, where, found = 0) {
  const kernels = best.compute_time_s - best.recompute_time_s;
  if (!(kernels > 0) || rows.some((row) => row.feasible && row.strategy.startsWith('in-core'))) return null;
  const gain = best.step_time_s / kernels - 1;
  if (found > gain) return null;
  return h('p', {}, `With any amount of memory, at ${where} the kernels of ${literal(best.strategy)} take ${time(kernels)} of the step’s ${time(best.step_time_s)}. More memory makes the step at most ${percent(Math.ceil(100 * gain) / 100)} faster, unless more workspace allows faster kernels.`);
}

const MOST_BARS = 6; // networks

/** Of each network apart: what one rests on says nothing about another. */
function sources(rows) {
  const networks = distinct(rows, 'network');
  const bars = networks.slice(0, MOST_BARS).map((network) => sourcesOf(rows.filter((row) => row.network === network), networks.length > 1 ? `${literal(network)}, ` : ''));
  return networks.length > MOST_BARS ? [...bars, h('p', { class: 'note' }, `and ${networks.length - MOST_BARS} more networks, in the table.`)] : bars;
}

// Of the fastest plans: those that nobody would take say little.
function sourcesOf(rows, name) {
  const running = rows.filter((row) => row.standing === 'best');
  if (running.length === 0) return null;
  const total = running.reduce((sum, row) => sum + row.step_time_s, 0);
  const share = (key) => running.reduce((sum, row) => sum + (row[key] ?? 0) * row.step_time_s, 0) / total;
  const of = [['beyond_share', 'by models beyond their data'], ['roofline_share', 'at full peak, for lack of laws']].filter(([key]) => share(key) >= 0.05);
  const parts = [['measured', share('measured_share')], ['published', share('published_share')], ['assumed', share('assumed_share')]];
  return h('div', { class: 'sources', title: 'shares of the fastest plans’ step time, by the source of the costs' },
    h('span', { class: 'share-bar', 'aria-hidden': 'true' }, parts.map(([name, part]) => h('i', { class: name, style: `width:${100 * part}%` }))),
    h('span', {}, `${name}costs of the fastest plans: `, parts.map(([source, part]) => `${source} ${percent(part)}`).join(', '), of.map(([key, words]) => `; ${percent(share(key))} ${words}`).join('')));
}

/** Of each machine the least and the most memory and link. */
function ends(keys) {
  return distinct(keys, 'base').flatMap((base) => {
    const own = keys.filter((key) => key.base === base).sort((a, b) => a.limit - b.limit || a.link - b.link);
    return own.length > 1 ? [own[0], own[own.length - 1]] : own;
  });
}

/** @param {import('./rows.js').Results} results */
export function verdict(results) {
  const keys = [];
  for (const row of results.rows) {
    if (keys.some((k) => k.machine === row.machine && k.limit === row.memory_limit_bytes)) continue;
    keys.push({ machine: row.machine, base: row.base, link: row.link, limit: row.memory_limit_bytes });
  }
  const oneNetwork = distinct(results.rows, 'network').length === 1;
  const answers = answersOf(results);
  const told = keys.length <= MOST_TOLD ? keys : ends(keys).slice(0, MOST_TOLD);
  const cards = told.map(({ machine, limit }) => {
    const rows = results.rows.filter((row) => row.machine === machine && row.memory_limit_bytes === limit);
    const places = placesOf(rows);
    const runs = runsOf(places);
    return h('article', { class: 'verdict' },
      h('h3', {}, literal(machine), h('small', {}, `${bytes(limit)} of device memory, link ${rate(rows[0].link)} (mean of out and in)`)),
      h('ul', {}, runs.slice(0, 5).map((run) => winnerSentence(run, oneNetwork)), runs.length > 5 ? h('li', {}, `and ${runs.length - 5} more, in the table.`) : null),
      slowest(places, oneNetwork), moreMemory(places, results, answers, oneNetwork), sources(rows));
  });
  const more = keys.length > told.length ? h('p', { class: 'note' }, `The sentences cover ${told.length} of ${keys.length} machines, links and memory limits: the smallest and the largest of each machine. The charts and the table below have all.`) : null;
  return [h('div', { class: `verdicts ${keys.length === 1 ? 'single' : ''}` }, cards), more,
    h('p', { class: 'note' }, 'Brackets give 80 % intervals: the true figure lies inside in 80 % of cases, as far as errors of the op costs go. Strategies cannot be told apart if these errors do not separate them.'), strategyList(results)];
}
