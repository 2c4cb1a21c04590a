// Colours and shapes that mean different things are told apart with each kind of colour vision.
const path = require('node:path');
const { check } = require('./browser.cjs');

// G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, IEEE TVCG 15(6), 2009, table 1, severity 1; on linear RGB.
const SEEN = {
  'with all cones': [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
const PARTS = ['compute', 'recompute', 'out', 'in', 'host', 'other'];
const MEMORY = ['parameter', 'parameter_gradient', 'optimizer_state', 'feature_map', 'gradient', 'workspace', 'transient', 'input', 'auxiliary'];
const APART = 18; // CIE 1976, as palette.js says

/** CIE L*a*b* of "#rrggbb" under D65 as it is seen. */
function lab(colour, seen) {
  const linear = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const [r, g, b] = seen.map((row) => Math.min(1, Math.max(0, row.reduce((sum, weight, i) => sum + weight * linear[i], 0))));
  const f = (v) => (v > 0.008856 ? Math.cbrt(v) : 7.787 * v + 16 / 116);
  const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089].map(f);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

async function toldApart(source) {
  const { LIGHT, DARK, marking } = await import(path.join(source, 'palette.js'));
  for (const [theme, colours] of Object.entries({ light: LIGHT, dark: DARK })) {
    for (const names of [PARTS, MEMORY]) {
      for (const [eyes, seen] of Object.entries(SEEN)) {
        const points = names.map((name) => lab(colours[name], seen));
        names.forEach((name, i) => names.slice(0, i).forEach((other, j) => {
          const distance = Math.hypot(...points[i].map((v, k) => v - points[j][k]));
          check(distance >= APART, `${name} and ${other}, ${theme}, ${eyes}: ${distance.toFixed(1)} apart`);
        }));
      }
    }
  }
  const marks = Array.from({ length: 20 }, (_, i) => JSON.stringify(marking(i)));
  check(new Set(marks).size === marks.length, 'twenty things in a chart have marks of their own');
}

module.exports = { toldApart };
