// The rows of results.json: what they are of, and by what they differ.
import { bytes, rate } from './format.js';

export class Results {
  /** @param {{results: Object[], expectations: Object[], what_helps: Object[]=, strategies: Object[]=}} document */
  constructor(document) {
    this.rows = document.results;
    this.expectations = document.expectations ?? [];
    this.helps = document.what_helps ?? [];
    this.meanings = document.columns ?? {};
    this.explained = new Map((document.strategies ?? []).map((one) => [one.strategy, one]));
    if (!this.rows.some((row) => 'standing' in row)) standBySpeed(this.rows);
    // Version 1 has another `loss`, and may call a row `best` that changes the results.
    if (document.version === 1 || document.version === undefined) for (const row of this.rows) if (row.feasible) row.loss = 1 - partsOf(row).compute / row.step_time_s;
    for (const row of this.rows) row.base = row.machine.replace(/\+link=[^+]*/, '');
    this.strategies = distinct(this.rows, 'strategy');
    this.machines = distinct(this.rows, 'machine');
    this.bases = distinct(this.rows, 'base');
    this.byPoint = new Map(this.rows.map((row) => [row.point, row]));
  }
  strategyIndex(name) { return this.strategies.indexOf(name); }
}

/** Results of before there was `standing`: the fastest of each place; what cannot be told from it they do not say. */
function standBySpeed(rows) {
  const fastest = new Map();
  const place = (row) => [row.scenario, row.network, row.batch, row.machine, row.memory_limit_bytes].join('\n');
  for (const row of rows) if (row.feasible) fastest.set(place(row), Math.min(row.step_time_s, fastest.get(place(row)) ?? Infinity));
  for (const row of rows) row.standing = row.feasible ? (row.step_time_s === fastest.get(place(row)) ? 'best' : '') : null;
}

export function distinct(rows, key) { return [...new Set(rows.map((row) => row[key]))]; }

export const LABELS = {
  scenario: 'scenario', network: 'network', batch: 'batch', memory_limit_bytes: 'memory', machine: 'machine', base: 'machine',
  link: 'link',
};
export const shown = (key, value) =>
  (key === 'memory_limit_bytes' ? bytes(value) : key === 'link' ? rate(value) : String(value));

/** Samples per second at the ends of the step's 80 % interval, slow end first. */
export const throughputInterval = (row) => [row.batch / row.step_time_high_s, row.batch / row.step_time_low_s];

/** By what a step's time is made up; adds up to step_time_s. */
export const PARTS = [
  ['compute', 'compute'], ['recompute', 'recompute'], ['out', 'waits for swap-out'], ['in', 'waits for swap-in'],
  ['host', 'waits for the host'], ['other', 'slowdown and the rest'],
];
export function partsOf(row) {
  return {
    compute: row.compute_time_s - row.recompute_time_s, recompute: row.recompute_time_s, out: row.stall_out_s,
    in: row.stall_in_s, host: row.stall_host_s, other: row.other_s,
  };
}

/** The same without where it happens. */
export const reasonShort = (row) => reasonText(row).split(' at ')[0];

/** "out_of_memory: the plan needs 41.6 GB at x" -> "out of memory: the plan needs ..." */
export const reasonText = (row) => row.reason.replace(/^[a-z_]+/, (word) => word.replaceAll('_', ' '));

/** Why a row is not ranked: its results are not those of the whole batch. */
export const OTHER_NUMBERS = { changed: 'changes the results: batch norm uses the statistics of a part', redrawn: 'changes the results: dropout draws other masks' };

export function images(row) { return /^(lenet|cifar|resnet|vgg|alexnet|googlenet|inception|densenet|overfeat|resnext)/i.test(row.network) ? 'images/s' : 'samples/s'; }
