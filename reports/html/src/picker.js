// Which of the points a chart shows: a list for everything by which the rows differ and the chart does not.
import { h, literal, select } from './dom.js';
import { distinct, LABELS, shown } from './rows.js';

/**
 * @param {Object[]} rows @param {string[]} keys what may be chosen, in this order
 * @param {Object} chosen by key, changed as the user chooses @param {() => void} onChange
 */
export function picker(rows, keys, chosen, onChange) {
  const box = h('div', { class: 'picker' });
  const build = () => {
    box.replaceChildren();
    let left = rows;
    for (const key of keys) {
      const values = distinct(left, key);
      if (typeof values[0] === 'number') values.sort((a, b) => a - b);
      // At the largest batch, and in the midst of the limits, there is most to see.
      if (!values.includes(chosen[key])) chosen[key] = values[key === 'memory_limit_bytes' ? Math.floor((values.length - 1) / 2) : values.length - 1];
      if (distinct(rows, key).length > 1) {
        box.append(select(LABELS[key] ?? key, values.map((value) => [value, literal(shown(key, value))]), chosen[key], (value) => {
          chosen[key] = value;
          build();
          onChange();
        }));
      }
      left = left.filter((row) => row[key] === chosen[key]);
    }
  };
  build();
  return box;
}

export const matching = (rows, chosen, keys) => rows.filter((row) => keys.every((key) => row[key] === chosen[key]));

/** The keys by which rows differ, of those asked about. */
export const varying = (rows, keys) => keys.filter((key) => distinct(rows, key).length > 1);
