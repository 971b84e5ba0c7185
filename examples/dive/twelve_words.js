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
    const m = +(v / 10 ** e).toPrecision(Math.min(3, n));
    return (m === 1 ? '' : m === -1 ? '−' : minus(`${m}·`)) + '10' + raised(e);
  }
  const signed = v => v < 0 ? `(${digits(v)})` : digits(v);
  const squared = v => (/^[\d.]+$/.test(digits(v)) ? digits(v) : `(${digits(v)})`) + '²';
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
    const v = g.cells.map(c => s.x[c]), n = v.length, squares = mu => v.map(a => squared(dust(a - mu, largest(v)))).join(' + ');
    const begin = `${head} belongs to ${title(s.norm, g)}. `;
    if (!s.norm.centred) return `${begin}Mean square: (${squares(0)}) / ${n} = ${tint(g, digits(g.power))}.`;
    return `${begin}Mean: (${v.map(signed).join(' + ')}) / ${n} = ${tint(g, digits(g.mu))}. `
      + `Variance: (${squares(g.mu)}) / ${n} = ${tint(g, digits(g.power))}.`;
  }

  const is_off = s => s.norm !== NORMS.none && !s.gamma, constant = norm => norm.centred ? 'β' : '0'; // γ = 0, and what an output then is
  const vanishing = s => s.eps ? 'ε is too small to matter' : 'ε is 0';
  const undefined_by = 'the values are equal and ε is 0, so the root is 0, and 1 / 0 counts as 0';
  const kept = (g, eps) => g.power ? Math.sqrt(g.power / (g.power + eps)) : 0;  // the deviation of x̂, or its root mean square; 1 without ε
  const NEAR = .9995;                              // a deviation that three digits show as 1
  // How x̂ of cell i changes with x of cell k, times the root. RMSNorm subtracts no mean.
  const slope = (norm, f, i, k) => (i === k) - ((norm.centred ? 1 : 0) + f.xhat[i] * f.xhat[k]) / f.of[k].cells.length;

  function sum_of_dx(s, f, b, g) {
    const total = dust(sum(g.cells.map(k => b.dx[k])), largest(b.dx));
    if (s.norm.centred) return 'The dx of a group sum to 0, because adding the same number to the whole group changes no output.';
    const moves = g.cells.some(i => Math.abs(sum(g.cells.map(k => slope(s.norm, f, i, k)))) > 1e-9);
    return `The dx of this group sum to ${digits(total)}. ` + (moves ? 'RMSNorm subtracts no mean, so a shift of the sample changes its outputs.'
      : `Its values are equal and ${vanishing(s)}, so a small shift of the sample ${s.eps ? 'hardly changes its outputs' : 'changes no output'}.`);
  }
  function balance(s, f, b) {
    const g = f.of[s.at];
    if (!g) return 'Without a norm dx = dy: no gradient depends on another value.';
    if (!s.gamma) return `γ is 0, so each output is ${constant(s.norm)} for every x, and every dx is 0.`;
    if (!g.s) return `Every dx of this group is 0: ${undefined_by}.`;
    const along = s.eps ? dust(sum(g.cells.map(k => b.dx[k] * f.xhat[k])), largest(b.dx)) : 0;
    const says = `${sum_of_dx(s, f, b, g)} The sum of dx · x̂ is ${digits(along, 3)}`;
    if (along) return `${says}; without ε it would be 0, because then scaling the group changes no output.`;
    if (!s.eps) return `${says}, because scaling the group changes no output.`;
    if (!g.power) return `${says}, because every x̂ is 0.`;
    return says + (dust(g.mean_gx, 1) ? `: ${vanishing(s)}.` : ', because mean(g · x̂) is 0.');
  }

  /* ---- The finding: the first of these that applies ---- */

  const samples = [...Array(ROWS).keys()], cells_of = r => ALL.filter(k => row(k) === r);

  function about_gamma(s) { return is_off(s) ? `γ is 0, so every output is ${constant(s.norm)}, and the inputs do not matter.` : ''; }
  function about_padding(s, f) {
    const empty = samples.filter(r => cells_of(r).every(k => !s.x[k]));
    if (empty.length !== 1) return '';
    const which = `Sample ${empty[0] + 1} is padding`, real = samples.filter(r => r !== empty[0]).map(r => s.x[cells_of(r)[0]]);
    return s.norm === NORMS.batch
      ? `${which}, but BatchNorm counts its zeros: the mean of feature 1 is ${digits(f.groups[0].mu)}, and ${digits(mean(real))} without the padding.`
      : `${which} and changes no other output, because ${s.norm.name} looks at one sample at a time.`;
  }
  function about_equal_values(s, f) {
    const g = f.groups.find(q => !q.power), ratio = s.eps ? 'ε prevents 0 / 0' : '0 / 0 counts as 0 here and in the library';
    if (!g) return '';
    return s.norm.centred ? `All values of ${title(s.norm, g)} are equal. Their variance is 0, so each output is β; ${ratio}.`
      : `All values of ${title(s.norm, g)} are 0, and so are its outputs; ${ratio}.`;
  }
  function about_epsilon(s, f) {
    const g = f.groups.find(q => q.power < s.eps), what = s.norm.centred ? 'variance' : 'mean square';
    return g ? `The ${what} of ${title(s.norm, g)} is ${digits(g.power, 2)}, less than ε. The outputs${s.norm.centred ? ', without β,' : ''} are `
      + `${digits(kept(g, s.eps), 2)} times as large as without ε.` : '';
  }
  function about_equal_samples(s, f) {             // samples whose x̂ would be equal without ε, although their inputs differ
    if (s.norm.columns !== 4) return '';
    const hat = forward(s.norm, s.x, { ...s, eps: 0 }).xhat, apart = (v, p, q) => largest(cells_of(p).map((k, i) => v[k] - v[cells_of(q)[i]]));
    const alike = samples.map(r => samples.filter(q => apart(hat, r, q) < 1e-9))
      .map(list => list.filter((q, i) => list.slice(0, i).every(r => apart(s.x, r, q)))).find(list => list.length > 1);
    if (!alike) return '';
    const most = dust(Math.abs(s.gamma) * Math.max(...alike.flatMap(p => alike.map(q => apart(f.xhat, p, q)))), 1);
    const removes = `${s.norm.name} removes ` + (s.norm.centred ? 'the mean and the scale of a sample' : 'the scale of a sample, but not its mean');
    return `Samples ${listed(alike.map(r => r + 1))} have different inputs`
      + (most ? `. Their outputs differ by up to about ${digits(most, 1)}, and not at all without ε: ` : ' and the same outputs: ') + `${removes}.`;
  }
  function about_one_large(s, f) {
    for (const g of f.groups.filter(q => q.cells.length > 2).sort((p, q) => q.power - p.power)) {
      const top = g.cells.reduce((a, c) => Math.abs(f.xhat[a]) > Math.abs(f.xhat[c]) ? a : c), others = g.cells.filter(k => k !== top), n = others.length;
      const rest = others.map(k => f.xhat[k]), spread = Math.max(...rest) - Math.min(...rest), near = s.eps ? 'without ε ' : '';
      const up = Math.sign(f.xhat[top]);
      if (Math.abs(f.xhat[top]) <= 1.2 || spread >= .1) continue;
      if (others.some(k => s.x[k] !== s.x[others[0]])) return `The ${digits(s.x[top])} is far from the other values of ${title(s.norm, g)}: `
        + `the other outputs differ from each other by up to about ${digits(Math.abs(s.gamma) * spread, 1)}.`;
      if (s.norm.centred) return `In ${title(s.norm, g)} only the ${digits(s.x[top])} differs from the others. However far away it is, ${near}its x̂ is `
        + `${digits(up * Math.sqrt(n), 3)}, and that of the others ${digits(-up / Math.sqrt(n), 3)}.`;
      if (!s.x[others[0]]) return `In ${title(s.norm, g)} only the ${digits(s.x[top])} is not 0. However large it is, ${near}its x̂ is `
        + `${digits(up * Math.sqrt(n + 1))}.`;
    }
    return '';
  }
  function deviation(s, f) {                       // of all groups, which ε makes smaller
    const all = f.groups.map(g => kept(g, s.eps)), [low, high] = [Math.min(...all), Math.max(...all)].map(v => digits(v, 2));
    return Math.min(...all) > NEAR ? '1' : low === high ? low : `${low} to ${high}`;
  }
  const less_than_1 = (s, f) => deviation(s, f) === '1' ? '' : ' (1 without ε)';
  const usual = {
    none: () => 'Without a norm the outputs are the inputs, and no value depends on another.',
    layer: (s, f) => `Before γ and β, LayerNorm gives each sample mean 0 and standard deviation ${deviation(s, f)}${less_than_1(s, f)}. The other samples do `
      + 'not matter.',
    batch: (s, f) => `Before γ and β, BatchNorm gives each feature mean 0 and standard deviation ${deviation(s, f)}${less_than_1(s, f)} over the batch, so `
      + 'a sample\'s output depends on the other samples.',
    rms: s => `RMSNorm divides each sample by ${s.eps ? 'the root of its mean square plus ε' : 'its root mean square'} and subtracts nothing.`,
    group: (s, f) => deviation(s, f) === '1'
      ? 'Each group has two values. Two different values always become −1 and 1 before γ and β, so only their order is left.'
      : `Each group has two values. Before γ and β, two different values become −1 and 1 without ε; with this ε they are ${deviation(s, f)} from 0.`,
  };
  function finding(s, f) {
    const all = [about_gamma, about_padding, about_equal_values, about_epsilon, about_equal_samples, about_one_large];
    for (const about of s.norm === NORMS.none ? [] : all) {
      const text = about(s, f);
      if (text) return text;
    }
    return usual[Object.keys(NORMS).find(n => NORMS[n] === s.norm)](s, f);
  }

  /* ---- Predictions: for each control a question and, after it was moved, the answer ---- */

  function shared_by_norm({ norm }) {
    if (norm === NORMS.none) return 'None. Each value passes alone.';
    const what = norm.centred ? 'one mean and one variance' : 'one mean square, but no mean';
    return norm === NORMS.group ? `Features 1 and 2 of each sample have ${what}, and so have features 3 and 4.` : `The values of ${norm.groups} have ${what}.`;
  }
  function moved_by_x(s, f) {                      // noticeably: its x̂ changes by more than a thousandth of the change, divided by the root
    const g = f.of[s.at];
    if (!g) return `Only ${name('y', s.at)} moves.`;
    if (!s.gamma) return `None: γ is 0, so every output is ${constant(s.norm)}.`;
    const moves = least => g.cells.filter(k => g.s ? Math.abs(slope(s.norm, f, k, s.at)) > least : s.norm.centred || k === s.at).length;
    const n = moves(1e-3), clearly = moves(1e-9) > n ? ' noticeably' : '', where = title(s.norm, g);
    if (n) return n === 1 ? `1 of 12 outputs moves${clearly}, in ${where}.` : `${n} of 12 outputs move${clearly}, all in ${where}.`;
    if (g.cells.length === 2) return `None moves${clearly}: x̂ of ${where} stays ${clearly ? 'close to' : 'at'} −1 and 1, whatever their distance.`;
    return `None moves${clearly}: the other values of ${where} are ${s.norm.centred ? 'equal' : '0'}, so x̂ ${clearly ? 'hardly depends' : 'does not depend'} `
      + 'on how far away this one is.';
  }
  function shrunk_by_epsilon(s, f) {
    const g = f.of[s.at], what = s.norm.centred ? 'variance' : 'mean square', share = kept(g, s.eps);
    if (!s.gamma) return `At none: γ is 0, so the outputs are ${constant(s.norm)} for every ε.`;
    if (!g.power) return `At none: the values of this group are ${s.norm.centred ? 'equal' : '0'}, so its outputs are ${constant(s.norm)} for every ε.`;
    return `At ε = 3 · ${what} = ${digits(3 * g.power, 3)} in ${title(s.norm, g)}. Now ` + (!s.eps ? 'ε is 0.' : share > NEAR
      ? 'ε changes them by less than 0.05 %.' : `they are ${digits(share, 3)} times as large as with ε = 0.`);
  }
  function scaled_by_gamma(s) {
    const what = s.norm.centred ? 'the outputs without β' : 'all outputs';
    if (!s.gamma) return `With γ = 0 all dx are 0, and each output is ${constant(s.norm)}.`;
    return s.gamma === 1 ? `Now γ is 1. All dx, and ${what}, are proportional to γ.`
      : `All dx, and ${what}, are ${digits(s.gamma)} times as large as with γ = 1.`;
  }
  function none_of_dx(s, f) {                      // why every dx is 0
    if (is_off(s)) return 'None: γ is 0, so no output depends on x.';
    if (!largest(s.dy)) return 'None: every dy is 0.';
    if (f.groups.every(g => !g.s)) return `None: in each group ${undefined_by}.`;
    if (s.pull === 'ones') return 'None: ' + (s.norm.centred ? 'the outputs of a group keep their sum when x changes.'
      : `the values of each sample are equal and ${vanishing(s)}, so a small change of x does not change the sum of its outputs.`);
    if (s.pull === 'xhat') return `None: ${vanishing(s)}, so the sum of x̂² does not change with x.`;
    if (s.pull === 'one') return f.of[s.at].s ? 'None: this output does not change when x changes a little.' : `None: in this group ${undefined_by}.`;
    return 'None: a small change of x does not change the sum of dy · y.';
  }
  function answered_by_dy(s, f, b) {               // a dx is 0 if its terms cancel, apart from rounding
    const is_there = k => f.of[k] ? b.dx[k] && Math.abs(sum(b.terms[k])) > 1e-9 * largest(b.terms.flat()) : b.dx[k];
    const n = ALL.filter(is_there).length, all = `${n} of 12`;
    if (!n) return none_of_dx(s, f);
    if (s.norm === NORMS.none) return `${all}: without a norm dx is dy.`;
    if (s.pull === 'ones') return `${all}: RMSNorm does not keep the sum of a sample's outputs.`;
    if (s.pull === 'xhat') return `${all}; the largest is ${digits(largest(b.dx), 2)}. Without ε all dx would be 0: the sum of x̂² would not change with x.`;
    if (s.pull === 'one') return n > 1 ? `${all}, although only one dy is not 0.` : `${all}: here this output depends on no other x.`;
    return `${all}.`;
  }
  const PREDICT = {
    norm: ['Which numbers will share a mean?', shared_by_norm],
    numbers: ['How will the outputs of the samples differ?', finding],
    value: ['How many of the 12 outputs will move?', moved_by_x],
    eps: ['At which ε will the outputs, without β, be half as large?', shrunk_by_epsilon],
    gamma: ['What does γ = −1 do to the outputs, and to dx?', scaled_by_gamma],
    beta: ['Which dx will change?', s => `None. β = ${digits(s.beta)} is added to all outputs, after everything that x can change.`],
    pull: ['How many of the 12 dx will not be 0?', answered_by_dy],
  };

  return { PREDICT, brief, digits, dust, largest, index, name, title, forward_calculation, backward_calculation, statistics, balance };
})();
