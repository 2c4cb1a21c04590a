// Cells of a CSV file as values.

const number = (text) => (text === '' || text === undefined || Number.isNaN(Number(text)) ? text ?? '' : Number(text));
/** Numbers as numbers, what is empty or a word as it is. Names stay names, whatever they look like. */
const NAMES = new Set(['name', 'point', 'strategy', 'network', 'machine', 'scenario', 'shape', 'algorithm']);
export const typed = (rows) => rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, NAMES.has(key) ? value ?? '' : number(value)])));

export const median = (values) => { const s = [...values].sort((a, b) => a - b); return s.length === 0 ? null : s.length % 2 ? s[(s.length - 1) / 2] : (s[s.length / 2 - 1] + s[s.length / 2]) / 2; };
