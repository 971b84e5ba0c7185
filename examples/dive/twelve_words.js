/* twelve_words.js - what the section says about its numbers: calculations, the finding, and the answers to the predictions. `s` is the state of the
 * section with its norm, x, dy, eps, gamma, beta and the chosen value `at`; f and b are the results of forward and backward. */
const twelve_words = (() => {
  'use strict';
  const { ROWS, ALL, NORMS, row, column, sum, mean, forward } = twelve_maths;

  /* ---- Numbers ---- */

  const minus = text => text.replace('-', '−');
  const raised = e => [...String(e)].map(c => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)]).join('');
  const largest = list => Math.max(...list.map(Math.abs));
  const dust = (v, scale) => Math.abs(v) < 1e-12 * Math.max(1, scale) ? 0 : v; // a rounding error is shown as 0
  function brief(v) {                              // at most seven characters, for a cell
    const a = Math.abs(v);
    if (a && (a < 1e-3 || a >= 1e5)) return minus(v.toExponential(1).replace('e-', 'e−').replace('+', ''));
    return a ? minus(v.toFixed(a >= 1e3 ? 0 : a >= 100 ? 1 : a >= .0995 ? 2 : a >= .00995 ? 3 : 4)) : '0';
  }
  function digits(v, n = 4) {                      // n digits, for a calculation
    const a = Math.abs(v), e = a ? Math.floor(Math.log10(a) + 1e-12) : 0;
    if (!a || (e >= -4 && e <= 6)) return minus(String(+v.toPrecision(n)));
    const m = +(v / 10 ** e).toPrecision(3);
    return (m === 1 ? '' : minus(`${m}·`)) + '10' + raised(e);
  }
  const signed = v => v < 0 ? `(${digits(v)})` : digits(v);
  const listed = list => list.length > 1 ? list.slice(0, -1).join(', ') + ' and ' + list.at(-1) : String(list[0]);
  const index = k => `${row(k) + 1},${column(k) + 1}`;
  const name = (v, k) => `<i>${v}</i><sub>${index(k)}</sub>`;
  const tint = (g, v) => `<mark style="--hue:${g.hue}">${v}</mark>`;

  function title(norm, g) {
    const r = row(g.cells[0]) + 1, c = column(g.cells[0]) + 1;
    if (norm === NORMS.batch) return `feature ${c} of all samples`;
    return norm === NORMS.group ? `features ${c} and ${c + 1} of sample ${r}` : `sample ${r}`;
  }

  /* ---- Calculations, in MathML ---- */

  const mo = v => `<mo>${v}</mo>`, mn = v => `<mn>${v}</mn>`;
  const number = v => v < 0 ? `<mrow>${mo('(')}${mn(digits(v))}${mo(')')}</mrow>` : mn(digits(v));
  const then = v => mo(v < 0 ? '−' : '+') + mn(digits(Math.abs(v)));
  const shared = (g, inner) => `<mrow class="tint" style="--hue:${g.hue}">${inner}</mrow>`;
  const less = (g, v) => v < 0 ? mo('+') + shared(g, mn(digits(-v))) : mo('−') + shared(g, mn(digits(v)));
  const over = (a, b) => `<mfrac><mrow>${a}</mrow><mrow>${b}</mrow></mfrac>`;
  const math = inner => `<math>${inner}</math>`;
  const at = (v, k) => `<msub><mi class="d">${v}</mi><mrow>${mn(row(k) + 1)}${mo(',')}${mn(column(k) + 1)}</mrow></msub>${mo('=')}`;
  const result = v => `<mrow class="result">${mo('=')}${mn(digits(v))}</mrow>`;

  function forward_calculation(s, f) {
    const k = s.at, g = f.of[k];
    if (!g) return math(at('y', k) + at('x', k) + mn(digits(f.y[k])));
    const top = mn(digits(s.x[k])) + (s.norm.centred ? less(g, g.mu) : '');
    const root = `<msqrt>${shared(g, mn(digits(g.power)))}${mo('+')}${mn(digits(s.eps))}</msqrt>`;
    return math(at('y', k) + number(s.gamma) + mo('·') + over(top, root) + (s.norm.centred ? then(s.beta) : '') + result(dust(f.y[k], 1)));
  }

  function backward_calculation(s, f, b) {
    const k = s.at, g = f.of[k], scale = largest(b.dx);
    if (!g) return math(at('dx', k) + at('dy', k) + mn(digits(b.dx[k])));
    const hat = dust(f.xhat[k], 1), top = mn(digits(s.gamma * s.dy[k])) + (s.norm.centred ? less(g, dust(g.mean_g, 1)) : '')
      + mo(hat < 0 ? '+' : '−') + mn(digits(Math.abs(hat))) + mo('·') + shared(g, number(dust(g.mean_gx, 1)));
    return math(at('dx', k) + over(top, mn(digits(g.s))) + result(dust(b.dx[k], scale)));
  }

  function statistics(s, f) {
    const k = s.at, g = f.of[k], head = `${name('x', k)} = ${digits(s.x[k])}`;
    if (!g) return `${head} passes as it is.`;
    const v = g.cells.map(c => s.x[c]), n = v.length, squares = mu => v.map(a => signed(dust(a - mu, largest(v))) + '²').join(' + ');
    const begin = `${head} belongs to ${title(s.norm, g)}. `;
    if (!s.norm.centred) return `${begin}Mean square: (${squares(0)}) / ${n} = ${tint(g, digits(g.power))}.`;
    return `${begin}Mean: (${v.map(signed).join(' + ')}) / ${n} = ${tint(g, digits(g.mu))}. `
      + `Variance: (${squares(g.mu)}) / ${n} = ${tint(g, digits(g.power))}.`;
  }

  function balance(s, f, b) {
    const g = f.of[s.at];
    if (!g) return 'Without a norm dx = dy: no gradient depends on another value.';
    const scale = largest(b.dx), total = dust(sum(g.cells.map(k => b.dx[k])), scale), along = dust(sum(g.cells.map(k => b.dx[k] * f.xhat[k])), scale);
    const shift = s.norm.centred
      ? 'The dx of a group sum to 0, because adding the same number to the whole group changes no output.'
      : `The dx of this group sum to ${digits(total)}. RMSNorm subtracts no mean, so a shift of the sample changes its outputs.`;
    return `${shift} The sum of dx · x̂ is ${digits(along, 3)}${along ? '; without ε it would be 0' : ''}, because scaling the group changes no output.`;
  }

  /* ---- The finding: the first of these that applies ---- */

  const samples = [...Array(ROWS).keys()], cells_of = r => ALL.filter(k => row(k) === r);

  function about_padding(s, f) {
    const empty = samples.filter(r => cells_of(r).every(k => !s.x[k]));
    if (empty.length !== 1) return '';
    const which = `Sample ${empty[0] + 1} is padding`, real = samples.filter(r => r !== empty[0]).map(r => s.x[cells_of(r)[0]]);
    return s.norm === NORMS.batch
      ? `${which}, but BatchNorm counts its zeros: the mean of feature 1 is ${digits(f.groups[0].mu)}, and ${digits(mean(real))} without the padding.`
      : `${which} and changes no other output, because ${s.norm.name} looks at one sample at a time.`;
  }
  function about_equal_values(s, f) {
    const g = s.norm.centred && f.groups.find(q => !q.power);
    return g ? `All values of ${title(s.norm, g)} are equal. Their variance is 0, so each output is β; ε prevents 0 / 0.` : '';
  }
  function about_epsilon(s, f) {
    const g = f.groups.find(q => q.power < s.eps), what = s.norm.centred ? 'variance' : 'mean square';
    return g ? `The ${what} of ${title(s.norm, g)} is ${digits(g.power, 2)}, less than ε. The outputs are ${digits(Math.sqrt(g.power / (g.power + s.eps)), 2)} `
      + 'times as large as without ε.' : '';
  }
  function about_equal_samples(s, f) {
    if (s.norm.columns !== 4) return '';
    const equal = (p, q) => cells_of(p).every((k, i) => Math.abs(f.xhat[k] - f.xhat[cells_of(q)[i]]) < 2e-4);
    const alike = samples.map(r => samples.filter(q => equal(r, q))).find(list => list.length > 1);
    if (!alike || cells_of(alike[0]).every((k, i) => s.x[k] === s.x[cells_of(alike[1])[i]])) return '';
    return `Samples ${listed(alike.map(r => r + 1))} have different inputs and the same outputs: ${s.norm.name} removes `
      + (s.norm.centred ? 'the mean and the scale of a sample.' : 'the scale of a sample, but not its mean.');
  }
  function about_one_large(s, f) {
    for (const g of f.groups.filter(q => q.cells.length > 2)) {
      const top = g.cells.reduce((a, c) => Math.abs(f.xhat[a]) > Math.abs(f.xhat[c]) ? a : c), rest = g.cells.filter(k => k !== top).map(k => f.xhat[k]);
      const spread = Math.max(...rest) - Math.min(...rest);
      if (Math.abs(f.xhat[top]) > 1.2 && spread < .1) return `The ${digits(s.x[top])} determines the statistics of ${title(s.norm, g)}: `
        + `the other outputs differ from each other by at most ${digits(Math.abs(s.gamma) * spread, 1)}.`;
    }
    return '';
  }
  const usual = {
    none: () => 'Without a norm the outputs are the inputs, and no value depends on another.',
    layer: () => 'Before γ and β, LayerNorm gives each sample mean 0 and standard deviation 1. The other samples do not matter.',
    batch: () => 'Before γ and β, BatchNorm gives each feature mean 0 and standard deviation 1 over the batch, so a sample\'s output depends on '
      + 'the other samples.',
    rms: () => 'RMSNorm divides each sample by its root mean square and subtracts nothing.',
    group: () => 'Each group has two values. Two different values always become −1 and 1 before γ and β, so only their order is left.',
  };
  function finding(s, f) {
    for (const about of s.norm === NORMS.none ? [] : [about_padding, about_equal_values, about_epsilon, about_equal_samples, about_one_large]) {
      const text = about(s, f);
      if (text) return text;
    }
    return usual[Object.keys(NORMS).find(n => NORMS[n] === s.norm)]();
  }

  /* ---- Predictions: for each control a question and, after it was moved, the answer ---- */

  function shared_by_norm({ norm }) {
    if (norm === NORMS.none) return 'None. Each value passes alone.';
    const what = norm.centred ? 'one mean and one variance' : 'one mean square, but no mean';
    return norm === NORMS.group ? `Features 1 and 2 of each sample have ${what}, and so have features 3 and 4.` : `The values of ${norm.groups} have ${what}.`;
  }
  function moved_by_x(s, f) {
    const g = f.of[s.at];
    if (!g) return `Only ${name('y', s.at)} moves.`;
    const share = 1e-3, step = share * (g.s || 1), moved = forward(s.norm, s.x.map((v, k) => k === s.at ? v + step : v), s);
    const n = ALL.filter(k => Math.abs(moved.xhat[k] - f.xhat[k]) > share * share).length;
    return n ? `${n} of 12 outputs move, all in ${title(s.norm, g)}.` : `None moves by more than a thousandth of the change: ${title(s.norm, g)} `
      + (g.cells.length === 2 ? 'keeps −1 and 1.' : 'is determined by its largest value.');
  }
  function shrunk_by_epsilon(s, f) {
    const g = f.of[s.at], what = s.norm.centred ? 'variance' : 'mean square';
    if (!g.power) return 'The values of this group are equal, so its outputs are β for every ε.';
    return `At ε = 3 · ${what} = ${digits(3 * g.power, 3)} in ${title(s.norm, g)}. Now they are ${digits(Math.sqrt(g.power / (g.power + s.eps)), 3)} `
      + 'times as large as with ε = 0.';
  }
  function answered_by_dy(s, f, b) {
    const scale = largest(s.dy), n = b.dx.filter(v => Math.abs(v) > 1e-9 * scale).length, all = n ? `${n} of 12` : 'None';
    if (s.norm === NORMS.none) return `${all}: without a norm dx is dy.`;
    if (s.pull === 'ones') return s.norm.centred ? `${all}: the outputs of a group keep their sum when x changes.`
      : `${all}: RMSNorm does not keep the sum of a sample's outputs.`;
    if (s.pull === 'xhat') return `${all}, but the largest is ${digits(largest(b.dx), 2)}: the sum of x̂² hardly changes with x, and not at all if ε is 0.`;
    return s.pull === 'one' ? `${all}, although only one dy is not 0.` : `${all}.`;
  }
  const PREDICT = {
    norm: ['Which numbers will share a mean?', shared_by_norm],
    numbers: ['How will the outputs of the samples differ?', finding],
    value: ['How many of the 12 outputs will move?', moved_by_x],
    eps: ['At which ε will the outputs, without β, be half as large?', shrunk_by_epsilon],
    gamma: ['What does γ = −1 do to the outputs, and to dx?',
      s => `All dx, and the outputs without β, are ${digits(s.gamma)} times as large as with γ = 1.`],
    beta: ['Which dx will change?', s => `None. β = ${digits(s.beta)} is added to all outputs, after everything that x can change.`],
    pull: ['How many of the 12 dx will not be 0?', answered_by_dy],
  };

  return { PREDICT, brief, digits, dust, largest, index, name, title, forward_calculation, backward_calculation, statistics, balance };
})();
