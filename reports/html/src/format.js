// Numbers as people read them: three significant digits, units always and on the same line (U+00A0), GB = 1e9 bytes.

/** @param {number} value @returns {string} 3280, 328, 32.8, 3.28, 0.328; no exponent for what training has */
export function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 99.95) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  if (size >= 0.0005) return value.toFixed(3);
  return value.toPrecision(2);
}

/** Seconds in the unit that suits them. */
export function time(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const size = Math.abs(seconds);
  if (size === 0) return '0\u00a0s';
  if (size >= 1) return `${short(seconds)}\u00a0s`;
  if (size >= 1e-3) return `${short(seconds * 1e3)}\u00a0ms`;
  if (size >= 1e-6) return `${short(seconds * 1e6)}\u00a0µs`;
  return `${short(seconds * 1e9)}\u00a0ns`;
}

export function bytes(count) {
  if (count === null || count === undefined) return '–';
  const size = Math.abs(count);
  if (size >= 1e9) return `${short(count / 1e9)}\u00a0GB`;
  if (size >= 1e6) return `${short(count / 1e6)}\u00a0MB`;
  if (size >= 1e3) return `${short(count / 1e3)}\u00a0kB`;
  return `${count}\u00a0B`;
}

export const rate = (bytesPerSecond) => `${short(bytesPerSecond / 1e9)}\u00a0GB/s`;
export const percent = (fraction) => (fraction === null || fraction === undefined ? '–' : `${Math.round(fraction * 100)}\u00a0%`);
export const signedPercent = (fraction) => {
  if (fraction === null || fraction === undefined) return '–';
  const text = (fraction * 100).toFixed(Math.abs(fraction) < 0.0995 ? 1 : 0);
  return `${Number(text) > 0 ? '+' : ''}${Number(text) === 0 ? '0' : text}\u00a0%`;
};

/** "a, b and c" */
export function listed(words) {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} and ${words[words.length - 1]}`;
}

/** "256 to 640" of a run of values, "128" of one. */
export const span = (values) => (values.length > 1 ? `${values[0]} to ${values[values.length - 1]}` : `${values[0]}`);
