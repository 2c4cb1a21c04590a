// What the strategies of these results do, and whose they are: as the program's own table has it.
import { h, literal } from './dom.js';
import { marking } from './palette.js';

const MOST_OPEN = 8; // more of them are behind a line that opens them
const LONG = 14; // characters of a name that has a line of its own

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** @param {import('./rows.js').Results} results @param {string} strategy as its rows call it @returns {string} '' where the results do not say */
export function explained(results, strategy) {
  const told = results.explained.get(strategy);
  return told ? literal(sentence(told.description)) : '';
}

/** @param {import('./rows.js').Results} results @returns {HTMLElement|null} null: the results are older than that */
export function strategyList(results) {
  const told = results.strategies.filter((strategy) => results.explained.has(strategy));
  if (told.length === 0) return null;
  const list = h('dl', { class: `strategies ${told.some((strategy) => strategy.length > LONG) ? 'stacked' : ''}` }, told.map((strategy) => {
    const { source } = results.explained.get(strategy);
    const i = results.strategyIndex(strategy);
    return h('div', {}, h('dt', {}, h('i', { ...marking(i), 'aria-hidden': 'true' }), literal(strategy)),
      h('dd', {}, explained(results, strategy), source ? [' ', h('cite', {}, literal(source))] : null));
  }));
  return h('details', { class: 'explained', open: told.length <= MOST_OPEN }, h('summary', {}, told.length > 1 ? `What the ${told.length} strategies do` : 'What the strategy does'),
    h('p', { class: 'note' }, 'A feature map is a result of the forward pass that the backward pass needs. A plan keeps the map on the device, swaps it (copies it to the host and back), or drops and recomputes it.'), list);
}
