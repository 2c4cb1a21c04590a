// The rows as they are in results.csv, to be sorted, read and copied.
import { fill, h, literal } from './dom.js';
import { bytes, percent, rate, short, signedPercent, time } from './format.js';
import { reasonText } from './rows.js';

const MAIN = ['network', 'batch', 'machine', 'memory_limit_bytes', 'strategy', 'samples_per_second', 'standing', 'step_time_s', 'step_time_low_s', 'step_time_high_s', 'gap', 'loss', 'peak_bytes', 'keep', 'swap', 'recompute', 'recompute_time_s', 'stall_out_s', 'stall_in_s', 'stall_host_s'];
const REST = new Set(MAIN.slice(MAIN.indexOf('keep'))); // too much for the width of paper
const AT_ONCE = 400;

const isNumber = (value) => typeof value === 'number';
const isFigure = (value) => isNumber(value) || /^[-+]?[\d.]+(\s%)?$/.test(value);

/** A value in words, by what its column is called. */
function cell(key, value) {
  if (value === null || value === undefined || value === '') return '';
  if (!isNumber(value)) return literal(typeof value === 'object' ? JSON.stringify(value) : value);
  if (key === 'bytes' || key.endsWith('_bytes') || key.startsWith('bytes_')) return bytes(value);
  if (key.endsWith('_s')) return time(value);
  if (key === 'link' || key.endsWith('_rate')) return value === 0 ? 'not limited' : rate(value);
  if (key === 'gap' || key === 'loss' || key.endsWith('_share') || key.endsWith('error') || key.endsWith('_spread')) return key.endsWith('error') ? signedPercent(value) : percent(value);
  return Number.isInteger(value) ? String(value) : short(value);
}

const head = (key) => key.replace(/_bytes$/, '').replace(/_s$/, '').replaceAll('_', ' ');

/** RFC 4180 */
const csvCell = (value) => { const text = value === null || value === undefined ? '' : String(value); return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };

/**
 * @param {Object[]} rows @param {{main?: string[], all?: string[], label: string, onRow?: (row: Object) => void, meanings?: Object<string, string>}} settings
 * main: the columns shown at first; all: every column
 */
export function table(rows, { main = null, all, label, onRow = null, meanings = {} }) {
  let sorted = rows, order = null, full = main === null, shownRows = AT_ONCE, word = '';
  const body = h('tbody'), row1 = h('tr'), count = h('span', { class: 'note', role: 'status' });
  const more = h('button', { type: 'button', class: 'button', click: () => { shownRows = Infinity; draw(); } }, 'show all rows');
  const columns = () => (full ? all : main.filter((key) => all.includes(key)));
  const filled = (key) => rows.map((row) => row[key]).filter((value) => value !== null && value !== undefined && value !== '');
  const numeric = new Set(all.filter((key) => filled(key).length > 0 && filled(key).every(isFigure)));
  const classOf = (key) => [numeric.has(key) ? 'n' : '', !full && REST.has(key) ? 'rest' : ''].join(' ').trim() || null;
  const sort = (key) => {
    const down = order?.key === key ? !order.down : numeric.has(key);
    order = { key, down };
    draw();
  };
  // What a row is found by of the columns shown: parts of words; figures as they are or are shown, each whole (512 is in many bytes).
  let found = new Map();
  const foundBy = (row) => {
    if (!found.has(row)) {
      const [figures, words] = [true, false].map((number) => columns().filter((key) => isNumber(row[key]) === number));
      found.set(row, { text: words.map((key) => String(row[key] ?? '')).join('\n').toLowerCase(), figures: new Set(figures.flatMap((key) => [String(row[key]), cell(key, row[key]).split('\u00a0')[0]])) });
    }
    return found.get(row);
  };
  const has = (row, one) => foundBy(row).text.includes(one) || foundBy(row).figures.has(one);
  function draw() {
    const words = word.split(/[\s,]+/).filter(Boolean); // of which a row has all
    sorted = words.length === 0 ? rows : rows.filter((row) => words.every((one) => has(row, one)));
    if (order) {
      const { key, down } = order;
      const rank = (v) => (v === null || v === undefined || v === '' ? null : v);
      sorted = [...sorted].sort((a, b) => {
        const [x, y] = [rank(a[key]), rank(b[key])];
        if (x === null || y === null) return (x === null) - (y === null);
        const order1 = isNumber(x) && isNumber(y) ? x - y : String(x).localeCompare(String(y), 'en', { numeric: true });
        return down ? -order1 : order1;
      });
    }
    const keys = columns();
    const dead = (row) => !full && row.feasible === 0 && keys.includes('strategy'); // its figures are empty: the reason takes their place
    fill(row1, keys.map((key) => h('th', { scope: 'col', class: classOf(key), 'aria-sort': order?.key === key ? (order.down ? 'descending' : 'ascending') : 'none' },
      h('button', { type: 'button', title: meanings[key] ?? null, click: () => sort(key) }, head(key), h('span', { 'aria-hidden': 'true' }, order?.key === key ? (order.down ? ' ↓' : ' ↑') : '')))));
    fill(body, sorted.slice(0, shownRows).map((row) => h('tr', { class: [row.feasible === 0 || row.feasible === '0' ? 'dead' : '', row.standing === 'best' ? 'best' : ''].join(' ').trim() || null },
      (dead(row) ? keys.slice(0, keys.indexOf('strategy') + 1) : keys).map((key) => {
        const text = cell(key, row[key]);
        const link = onRow && key === 'strategy' && row.feasible === 1;
        return h('td', { class: classOf(key), title: isNumber(row[key]) ? `${row[key]}` : null }, link ? h('button', { type: 'button', class: 'link', click: () => onRow(row) }, text) : text);
      }),
      dead(row) ? h('td', { colspan: keys.length - keys.indexOf('strategy') - 1, class: 'reason' }, literal(reasonText(row))) : null)));
    more.hidden = sorted.length <= shownRows;
    fill(count, `${sorted.length}${sorted.length < rows.length ? ` of ${rows.length}` : ''} row${rows.length === 1 ? '' : 's'}${sorted.length > shownRows ? `, the first ${shownRows} shown` : ''}`);
  }
  const copy = h('button', { type: 'button', class: 'button', click: async () => {
    const text = [columns(), ...sorted.map((row) => columns().map((key) => row[key]))].map((line) => line.map(csvCell).join(',')).join('\n');
    try { await navigator.clipboard.writeText(`${text}\n`); fill(copy, 'copied'); } catch { fill(copy, 'the browser does not allow a file to copy'); }
    setTimeout(() => fill(copy, 'copy as CSV'), 2000);
  } }, 'copy as CSV');
  const columnsButton = main === null ? null : h('button', { type: 'button', class: 'button', 'aria-pressed': 'false', click: () => { full = !full; found = new Map(); columnsButton.setAttribute('aria-pressed', String(full)); draw(); } }, `all ${all.length} columns`);
  const filter = h('input', { type: 'search', placeholder: 'words in a row', 'aria-label': `filter ${label}`, input: () => { word = filter.value.toLowerCase(); draw(); } });
  draw();
  return h('div', { class: 'table', 'data-table': label },
    h('div', { class: 'controls' }, h('span', { class: 'field' }, h('label', {}, 'filter', filter)), columnsButton, copy, count),
    h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, h('table', { class: 'data' }, h('caption', {}, label), h('thead', {}, row1), body)), more);
}

export function resultsTable(results, onRow) {
  const all = Object.keys(results.rows[0]).filter((key) => key !== 'base' && typeof results.rows[0][key] !== 'object' || results.rows.some((r) => r[key] !== null && typeof r[key] !== 'object' && key !== 'base'));
  const differs = (key) => results.rows.some((row) => row[key] !== results.rows[0][key]);
  return table(results.rows, { main: MAIN.filter((key) => differs(key)), all, label: 'results', onRow, meanings: results.meanings });
}

/** What the columns mean, as the program says it; null where the results are older than that. */
export function columnMeanings({ meanings }) {
  const told = Object.entries(meanings);
  return told.length === 0 ? null : h('details', {}, h('summary', {}, 'What the columns mean'), h('dl', { class: 'meanings' }, told.map(([name, meaning]) => [h('dt', {}, head(name)), h('dd', {}, meaning)]).flat()));
}

export function expectationsTable(results) {
  const rows = results.expectations.map((e) => {
    const row = results.byPoint.get(e.point) ?? {};
    return { machine: row.machine, batch: row.batch, strategy: row.strategy, measure: e.measure === 'feasible' ? 'memory' : e.measure.replaceAll('_', ' '), published: range(e), ours: fits(e, e.ours), difference: e.difference === null || e.measure === 'feasible' ? '' : `${(100 * e.difference).toFixed(0)} %`, 'must hold': e.gate ? (e.passed ? 'yes, and does' : 'yes, and does NOT') : '', source: e.source, why: e.why ?? '' };
  });
  return table(rows, { all: Object.keys(rows[0]).filter((key) => key !== 'why' || rows.some((row) => row.why !== '')), label: 'published figures and ours' });
}
const fits = (e, value) => (e.measure !== 'feasible' || value === null ? value : value > 0 ? 'fits' : 'does not fit');
const range = (e) => (e.measure === 'feasible' ? fits(e, e.paper_low ?? e.paper_high) : e.paper_low === e.paper_high ? short(e.paper_low) : `${e.paper_low === null ? 'at most ' : short(e.paper_low)}${e.paper_low !== null && e.paper_high !== null ? ' to ' : ''}${e.paper_high === null ? ' or more' : short(e.paper_high)}`);
