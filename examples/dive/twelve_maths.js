/* twelve_maths.js - four norms of a matrix of 3 samples and 4 features, forward and backward. A matrix is an array of twelve numbers. */
const twelve_maths = (() => {
  'use strict';
  const ROWS = 3, COLUMNS = 4, N = ROWS * COLUMNS, ALL = [...Array(N).keys()];
  const row = k => Math.floor(k / COLUMNS), column = k => k % COLUMNS;
  const sum = list => list.reduce((a, b) => a + b, 0), mean = list => sum(list) / list.length;

  // A norm cuts the matrix into groups of rows x columns values. The values of a group share their statistics.
  const NORMS = {
    none: { name: 'No norm', groups: 'each value alone' },
    layer: { name: 'LayerNorm', rows: 1, columns: 4, centred: true, groups: 'each sample' },
    batch: { name: 'BatchNorm', rows: 3, columns: 1, centred: true, groups: 'each feature' },
    rms: { name: 'RMSNorm', rows: 1, columns: 4, centred: false, groups: 'each sample' },
    group: { name: 'GroupNorm', rows: 1, columns: 2, centred: true, groups: 'half a sample' },
  };
  function groups_of(norm) {
    const groups = [];
    for (let r = 0; norm.rows && r < ROWS; r += norm.rows)
      for (let c = 0; c < COLUMNS; c += norm.columns)
        groups.push(ALL.filter(k => row(k) >= r && row(k) < r + norm.rows && column(k) >= c && column(k) < c + norm.columns));
    return groups.map((cells, i) => ({ cells, hue: Math.round(30 + 360 * i / groups.length) }));
  }

  // y = gamma * xhat + beta with xhat = (x - mu) / s and s = sqrt(power + eps). power is the variance or, without a mean, the mean square.
  function forward(norm, x, { eps, gamma, beta }) {
    const xhat = [...x], y = [...x], of = [], groups = groups_of(norm);
    for (const g of groups) {
      const v = g.cells.map(k => x[k]), near = mean(v);
      g.mu = norm.centred ? near + mean(v.map(a => a - near)) : 0; // in two parts, so that equal values have exactly their value as mean
      g.power = mean(v.map(a => (a - g.mu) ** 2));
      g.s = Math.sqrt(g.power + eps);
      for (const k of g.cells) {
        of[k] = g;
        xhat[k] = g.s ? (x[k] - g.mu) / g.s : 0;                   // 1 / 0 is 0 by definition, as in the library
        y[k] = gamma * xhat[k] + (norm.centred ? beta : 0);
      }
    }
    return { xhat, y, groups, of };
  }

  // dx = (g - mean(g) - xhat * mean(g * xhat)) / s with g = gamma * dy. terms[k] holds the three terms of the numerator. RMSNorm has no mean(g).
  function backward(norm, f, dy, gamma) {
    const dx = [...dy], terms = [];
    for (const group of f.groups) {
      const g = group.cells.map(k => gamma * dy[k]);
      group.mean_g = norm.centred ? mean(g) : 0;
      group.mean_gx = mean(group.cells.map((k, i) => g[i] * f.xhat[k]));
      group.cells.forEach((k, i) => {
        terms[k] = [g[i], -group.mean_g, -f.xhat[k] * group.mean_gx];
        dx[k] = group.s ? sum(terms[k]) / group.s : 0;
      });
    }
    return { dx, terms };
  }

  return { ROWS, COLUMNS, ALL, NORMS, row, column, sum, mean, groups_of, forward, backward };
})();
