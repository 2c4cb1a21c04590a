// Of a run, names/ in the folder that is the argument: old/, the same from before results said how rows stand, what the
// strategies are and what would help; linked/, the same with a faster link asked about, as spillway compare does. And what a
// validation and a calibration leave, without measuring: validation/ as spillway validate would, of the run's timelines
// with what was measured behind them, and calibration.csv.
const fs = require('node:fs');
const path = require('node:path');

const folder = process.argv[2];
const NAME = 'n "quoted" </script><script>document.title=\'broken\'</script> über \x07';
// The same numbers each time: a linear congruential generator.
let state = 1;
const uniform = () => { state = (1664525 * state + 1013904223) % 2 ** 32; return state / 2 ** 32; };
const cell = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
const csv = (rows) => [Object.keys(rows[0]), ...rows.map(Object.values)].map((row) => `${row.map(cell).join(',')}\n`).join('');

/** Slices once more, in processes of their own, each up to twice as long and behind the one before it on its thread. */
function measured(trace) {
  const events = trace.traceEvents, processes = new Set(events.filter((e) => e.ph === 'M' && e.name === 'process_name').map((e) => e.pid));
  const ends = new Map(), added = [];
  for (const e of events) {
    if (e.ph === 'M') added.push({ ...e, pid: e.pid + processes.size, args: e.name === 'process_name' ? { name: `${e.args.name} (measured)` } : e.args });
    if (e.ph === 'M' && e.name === 'process_name') e.args = { name: `${e.args.name} (predicted)` };
    if (e.ph !== 'X' || !['kernel', 'recompute', 'copy'].includes(e.cat)) continue;
    const key = `${e.pid}/${e.tid}`, ts = Math.max(e.ts, ends.get(key) ?? 0), dur = e.dur * (0.9 + uniform());
    ends.set(key, ts + dur);
    added.push({ ...e, pid: e.pid + processes.size, ts, dur, args: { instruction: e.args.instruction, predicted_ns: Math.round(1000 * e.dur), ...e.args } });
  }
  trace.traceEvents = [...events, ...added].map((e, i) => [e, i]).sort(([a, i], [b, j]) => (a.ts ?? -1) - (b.ts ?? -1) || i - j).map(([e]) => e);
  trace.otherData.measured_step_ns = Math.round(1000 * Math.max(...ends.values()));
  return added.filter((e) => e.ph === 'X');
}

const opOf = (e) => ({
  instruction: e.args.instruction, what: e.cat === 'copy' ? e.name.split(' ')[0] : e.cat, name: e.name.replace(/^(recompute|swap-in|swap-out) /, ''),
  shape: e.args.shape ?? '', algorithm: e.args.algorithm ?? '', bytes: e.cat === 'copy' ? e.args.bytes : '', how: e.args.how ?? 'published',
  predicted_s: e.args.predicted_ns / 1e9, measured_s: e.dur / 1e6, low_s: (0.95 * e.dur) / 1e6, high_s: (1.1 * e.dur) / 1e6, steps: 3, error: (e.args.predicted_ns / 1000 / e.dur - 1).toFixed(6) });

const written = JSON.parse(fs.readFileSync(path.join(folder, 'names/results.json'), 'utf8'));
const write = (name, document) => { fs.mkdirSync(path.join(folder, name)); fs.writeFileSync(path.join(folder, name, 'results.json'), JSON.stringify(document)); };
write('old', { results: written.results.map(({ standing, ...row }) => row), expectations: written.expectations });
write('linked', { ...written, what_helps: written.what_helps.map((place) => ({ ...place, link: 8e9, link_step_time_s: 0.5, faster_link: 9e9, faster_link_step_time_s: 0.4, copies_free_from: 16e9 })) });

const out = path.join(folder, 'validation');
for (const name of ['', 'ops', 'timelines']) fs.mkdirSync(path.join(out, name), { recursive: true });
const { results } = written;
const plans = results.filter((row) => row.feasible && row.batch === 64 && row.machine === results[0].machine);
const rows = plans.map((row) => {
  const trace = JSON.parse(fs.readFileSync(path.join(folder, `names/timelines/${row.point}.trace.json`), 'utf8'));
  const ops = measured(trace).map(opOf);
  ops[0].name = NAME;
  fs.writeFileSync(path.join(out, `timelines/${row.point}.trace.json`), JSON.stringify(trace));
  fs.writeFileSync(path.join(out, `ops/${row.point}.csv`), csv(ops));
  const took = trace.otherData.measured_step_ns / 1e9;
  return { network: NAME, batch: 64, device: 'cpu', memory_limit_bytes: row.memory_limit_bytes, link_rate: 0, strategy: row.strategy, predicted_s: row.step_time_s, measured_s: took,
    measured_spread: 0.01, error: row.step_time_s / took - 1, replay_error: 0.01, predicted_peak_bytes: row.peak_bytes, measured_peak_bytes: row.peak_bytes - 1, predicted_device_bytes: '', measured_device_bytes: '', numerics: 'bitwise',
    scenario: 's', machine: 'm', measured_low_s: 0.99 * took, measured_high_s: 1.01 * took, kernel_error: -0.3, copy_error: -0.2, trusted: 1, point: row.point };
});
fs.writeFileSync(path.join(out, 'validation.csv'), csv([...rows, { ...rows[0], strategy: 'random 1', measured_s: rows[0].predicted_s, error: 0, point: '' }]));
fs.writeFileSync(path.join(out, 'falsification.csv'), csv([{ variant: 'full', median_error: 0.1, worst_error: 0.2, tau: 1, full_closer: 0, full_farther: 0, sign_test_p: 1, gain_low: 0, gain_high: 0, verdict: '', scaled: 0 },
  { variant: 'sum of ops', median_error: 0.4, worst_error: 0.6, tau: 0.5, full_closer: 4, full_farther: 0, sign_test_p: 0.06, gain_low: 0.1, gain_high: 0.2, verdict: 'rejected', scaled: 0 }]));

const samples = [];
for (const [op, pass] of [['convolution', 'forward'], ['convolution', 'backward_data'], ['relu', 'forward'], ['batch_norm', 'backward']]) {
  for (let i = 0; i < 40; ++i) {
    const time = 10 ** (-5 + 3 * uniform()), error = 0.6 * (uniform() - 0.5);
    samples.push({ what: 'kernel', op, pass, shape: i === 0 ? NAME : `${i}x64x56x56`, algorithm: op === 'convolution' ? 'direct' : '', direction: '', bytes: '', rows: '', measured_s: time, low_s: 0.95 * time, high_s: 1.1 * time, predicted_s: time * (1 + error), error, how: 'model', flags: i % 9 === 0 ? 'noisy' : '' });
  }
}
for (const direction of ['h2d', 'd2h']) {
  for (let power = 12; power < 28; ++power) {
    const bytes = 2 ** power, time = 1e-5 + bytes / 1e10, error = 0.1 * (uniform() - 0.5);
    samples.push({ what: 'copy', op: '', pass: '', shape: '', algorithm: '', direction, bytes, rows: 1, measured_s: time, low_s: time, high_s: time, predicted_s: time * (1 + error), error, how: 'curve', flags: '' });
  }
}
fs.writeFileSync(path.join(folder, 'calibration.csv'), csv(samples));

// A recorded step: forward calls of sixteen modules, each of which makes what backward reads; and an update.
const call = (id, pass, module, deps, results) => ({ id, op: 'aten.convolution.default', pass, module, ns: 1000, deps, results });
const size = (k) => 1_000_000 * (k + 1);
const forward = Array.from({ length: 32 }, (_, k) => call(`f${k}`, 'forward', `encoder.${k % 4}.${k % 16}`, [k === 0 ? 'x' : `f${k - 1}.y`, 'w'], [{ id: `f${k}.y`, bytes: size(k) }]));
const backward = forward.map((_, k) => call(`b${k}`, 'backward', `encoder.${k % 4}.${k % 16}`, [`f${k}.y`, k === 31 ? 'w' : `b${k + 1}.g`], [{ id: `b${k}.g`, bytes: size(k) }])).reverse();
fs.writeFileSync(path.join(folder, 'step.json'), JSON.stringify({
  format: 'spillway-step', version: 2, graph: 'made up', samples: 2, source: { assumed: 'made up' }, error: 0.1, device: { type: 'cpu', name: NAME },
  values: [{ id: 'x', bytes: 4096, class: 'batch' }, { id: 'w', bytes: 4_000_000, name: NAME }], nodes: [...forward, ...backward, call('update', 'update', '', ['b0.g', 'w'], [])],
}));
