/* twelve.js - the page of the section: controls, matrices and the table of terms. Each change computes and shows everything again. */
(() => {
  'use strict';
  const { ROWS, COLUMNS, ALL, NORMS, row, column, sum, groups_of, forward, backward } = twelve_maths;
  const say = twelve_words, { brief, digits, dust, largest } = say;
  const section = document.getElementById('twelve');
  const all = what => [...section.querySelectorAll(what)], one = what => section.querySelector(what);
  const control = what => one(`[data-control="${what}"]`);

  const NUMBERS = {
    multiples: ['multiples and shifts', [1, 2, 3, 6, 2, 4, 6, 12, 11, 12, 13, 16]],
    ordinary: ['ordinary', [.5, -1.2, .8, .3, 1.5, .3, -.4, -.9, -.7, 2.1, .2, -1.6]],
    constant: ['a constant sample', [1, 2, 3, 4, 5, 5, 5, 5, 4, 0, 2, -1]],
    padding: ['padding', [1, 4, 2, 3, 2, 6, 4, 5, 0, 0, 0, 0]],
    outlier: ['one large value', [1, 2, 3, 2, 2, 1, 100, 3, 3, 1, 2, 2]],
    tiny: ['small differences', [.001, .002, .003, .002, .002, .001, .004, .003, .003, .003, .001, .002]],
  };
  const MIXED = [1, -.5, .4, .2, .5, 2, 0, -1, -1, 1, .3, 0];
  const PULLS = { mixed: ['mixed'], one: ['1 at the chosen value'], ones: ['1 everywhere'], xhat: ['x̂'] };
  const state = { kind: 'layer', numbers: 'multiples', pull: 'mixed', x: [...NUMBERS.multiples[1]], dy: [...MIXED], eps: 1e-5, gamma: 1, beta: 0, at: 3 };
  const answered = new Set();                      // the controls that were moved, whose answers are shown

  /* ---- What is built once ---- */

  function picture(norm) {                         // the axes: each group has a colour
    const of = [];
    for (const g of groups_of(norm)) for (const k of g.cells) of[k] = g;
    const square = k => `<rect x="${11 * column(k) + 1}" y="${11 * row(k) + 1}" width="10" height="10" rx="1.5" `
      + (of[k] ? `style="--hue:${of[k].hue}"/>` : 'class="alone"/>');
    return `<svg viewBox="0 0 ${11 * COLUMNS + 1} ${11 * ROWS + 1}" aria-hidden="true">${ALL.map(square).join('')}</svg>`;
  }
  const choice = (group, value, inner) => `<label><input type="radio" name="twelve-${group}" value="${value}"><span>${inner}</span></label>`;

  function matrix(table) {
    const which = table.dataset.matrix, edited = which === 'x' || which === 'dy';
    const cell = k => edited ? `<input type="text" autocomplete="off" spellcheck="false" aria-label="${which}, sample ${row(k) + 1}, feature ${column(k) + 1}">`
      : '<button type="button"></button>';
    const line = r => `<tr><th scope="row">sample ${r + 1}</th>` + ALL.filter(k => row(k) === r).map(k => `<td>${cell(k)}</td>`).join('') + '</tr>';
    const heads = [...Array(COLUMNS).keys()].map(c => `<th scope="col">feature ${c + 1}</th>`).join('');
    table.insertAdjacentHTML('beforeend', `<thead><tr><td></td>${heads}</tr></thead><tbody>${[...Array(ROWS).keys()].map(line).join('')}</tbody>`);
    table.cells = [...table.querySelectorAll('tbody td')];
    table.cells.forEach((td, k) => listen(td.firstElementChild, k, table));
  }

  /* ---- What the reader does ---- */

  function choose(k) { state.at = k; span(); show(); }

  function type(input, k, which) {                 // a text that is no number yet changes nothing
    const text = input.value.trim().replace('−', '-').replace(',', '.'), v = Number(text), good = text !== '' && Math.abs(v) <= 1e9;
    input.setAttribute('aria-invalid', !good);
    if (!good) return;
    state[which] = state[which].map((old, i) => i === k ? v : old);
    state[which === 'x' ? 'numbers' : 'pull'] = 'own';
    show();
  }

  // Arrows move as in a spreadsheet. Inside a text, left and right move only from its ends.
  function move(e, k, table) {
    const i = e.target, text = i.tagName === 'INPUT', whole = text && i.selectionEnd - i.selectionStart === i.value.length;
    const left = !text || whole || !i.selectionEnd, right = !text || whole || i.selectionStart === i.value.length;
    const to = { ArrowUp: k - COLUMNS, ArrowDown: k + COLUMNS, ArrowLeft: left && column(k) ? k - 1 : -1,
      ArrowRight: right && column(k) < COLUMNS - 1 ? k + 1 : -1, Enter: text ? k + COLUMNS : -1 }[e.key];
    if (!table.cells[to]) return;
    e.preventDefault(), table.cells[to].firstElementChild.focus();
  }

  function listen(field, k, table) {
    const which = table.dataset.matrix;
    field.addEventListener('keydown', e => move(e, k, table));
    if (field.tagName === 'BUTTON') return field.addEventListener('click', () => choose(k));
    field.addEventListener('focus', () => { choose(k); field.value = String(state[which][k]); field.select(); });
    field.addEventListener('blur', () => { field.removeAttribute('aria-invalid'); show(); });
    field.addEventListener('input', () => type(field, k, which));
  }

  const take = {
    norm: v => { state.kind = v; },
    numbers: v => { state.numbers = v; state.x = [...NUMBERS[v][1]]; span(); },
    pull: v => { state.pull = v; if (v === 'mixed') state.dy = [...MIXED]; },
    value: v => { state.x = state.x.map((old, k) => k === state.at ? +v : old); state.numbers = 'own'; },
    eps: v => { state.eps = +v < -12 ? 0 : 10 ** +v; },
    gamma: v => { state.gamma = +v; },
    beta: v => { state.beta = +v; },
  };
  function changed(e) {
    const what = e.target.closest('[data-control]')?.dataset.control;
    if (!what) return;
    take[what](e.target.value);
    const again = ['value', 'eps', 'gamma', 'beta', 'pull'];       // a new norm or new numbers ask again for these predictions
    if (what === 'norm') answered.clear();
    if (what === 'numbers') for (const other of again) answered.delete(other);
    answered.add(what);
    show();
  }
  function span() {                                // the slider of the chosen value reaches twice as far as the matrix
    const top = +(2 * largest(state.x)).toPrecision(1) || 10;
    Object.assign(one('#twelve-value'), { min: -top, max: top, step: top / 200 });
  }

  /* ---- What is shown ---- */

  function fill(which, values, f, scale) {
    const here = f.of[state.at], table = one(`[data-matrix="${which}"]`);
    table.cells.forEach((td, k) => {
      const field = td.firstElementChild, v = dust(values[k], scale), g = f.of[k], other = q => f.of[q] !== g || !g;
      if (field.tagName === 'INPUT') {
        if (field !== document.activeElement) field.value = digits(v);
      } else {
        field.textContent = brief(v);
        field.setAttribute('aria-label', `${which}, sample ${row(k) + 1}, feature ${column(k) + 1}: ${brief(v)}`);
        field.setAttribute('aria-pressed', k === state.at);
      }
      field.tabIndex = k === state.at ? 0 : -1;    // one stop for Tab; the arrows reach the others
      td.dataset.value = values[k];
      td.style.setProperty('--strength', (scale ? Math.min(1, Math.abs(v) / scale) : 0).toFixed(3));
      if (g) td.style.setProperty('--hue', g.hue);
      td.className = Object.entries({ below: v < 0, alone: !g, here: k === state.at, same: g && g === here, top: !row(k) || other(k - COLUMNS),
        bottom: row(k) === ROWS - 1 || other(k + COLUMNS), left: !column(k) || other(k - 1), right: column(k) === COLUMNS - 1 || other(k + 1) })
        .filter(([, on]) => on).map(([name]) => name).join(' ');
    });
  }

  function shared(way, f, pairs) {
    const box = one(`[data-shared="${way}"]`), norm = NORMS[state.kind], item = g => `<li style="--hue:${g.hue}"${g === f.of[state.at] ? ' class="same"' : ''}>`
      + `<span class="sr">${say.title(norm, g)}: </span>` + pairs(g).map(([what, v]) => `<span>${what} <b>${brief(dust(v, 1))}</b></span>`).join(' ') + '</li>';
    box.style.setProperty('--columns', norm.columns ? COLUMNS / norm.columns : 1);
    box.innerHTML = f.groups.map(item).join('') || '<li class="alone">nothing</li>';
  }

  function terms(f, b) {
    const g = f.of[state.at], table = one('.terms');
    table.hidden = !g;
    if (!g) return;
    const most = largest(g.cells.flatMap(k => b.terms[k])) || 1, scale = largest(b.dx);
    const percent = v => (50 * v / most).toFixed(2) + '%';
    const bar = v => `<td>${brief(v)}<span class="bar${v < 0 ? ' below' : ''}" `
      + `style="--from:calc(50% + ${percent(Math.min(0, v))});--wide:${percent(Math.abs(v))}"></span></td>`;
    const line = k => `<tr${k === state.at ? ' class="here"' : ''}><th scope="row">${say.name('x', k)}</th>` + b.terms[k].map(v => bar(dust(v, most))).join('')
      + `<td>${brief(dust(sum(b.terms[k]), most))}</td><td><b>${brief(dust(b.dx[k], scale))}</b></td></tr>`;
    const total = i => brief(dust(sum(g.cells.map(k => i < 3 ? b.terms[k][i] : i === 3 ? sum(b.terms[k]) : b.dx[k])), i < 4 ? most : scale));
    const totals = [0, 1, 2, 3, 4].map(i => `<td>${total(i)}</td>`).join('');
    table.innerHTML = `<caption>The three terms of dx in ${say.title(NORMS[state.kind], g)}</caption><thead><tr><td></td>`
      + ['g', '− mean(g)', '− x̂ · mean(g · x̂)', 'their sum', `dx: ÷ ${digits(g.s)}`].map(h => `<th scope="col">${h}</th>`).join('') + '</tr></thead>'
      + `<tbody>${g.cells.map(line).join('')}</tbody><tfoot><tr><th scope="row">sum</th>${totals}</tr></tfoot>`;
  }

  function predictions(s, f, b) {
    for (const [what, [question, answer]] of Object.entries(say.PREDICT)) {
      const line = control(what).querySelector('.predict'), text = answered.has(what) ? answer(s, f, b) : '';
      line.hidden = control(what).querySelector('input').disabled;
      if (line.lastElementChild.innerHTML !== text) line.lastElementChild.innerHTML = text;
      line.firstElementChild.textContent = question;
    }
  }

  function knob(what, at, text, off) {
    const input = one('#twelve-' + what);
    if (+input.value !== at) input.value = at;
    input.disabled = off;
    input.parentNode.querySelector('output').value = off ? '–' : text;
    input.setAttribute('aria-valuetext', text);
  }

  function show() {
    const norm = NORMS[state.kind], s = { ...state, norm }, f = forward(norm, s.x, s);
    const only = { one: ALL.map(k => +(k === s.at)), ones: ALL.map(() => 1), xhat: f.xhat }[s.pull];
    if (only) s.dy = state.dy = [...only];
    const b = backward(norm, f, s.dy, s.gamma), none = !norm.rows;
    section.dataset.kind = s.kind;
    section.dataset.formula = none ? 'none' : norm.centred ? 'mean' : 'rms';
    fill('x', s.x, f, 0), fill('y', f.y, f, none ? largest(s.x) : 2), fill('dy', s.dy, f, largest(s.dy));
    fill('dx', b.dx, f, Math.max(largest(b.dx), 1e-9 * largest(s.dy)));
    shared('forward', f, g => norm.centred ? [['mean', g.mu], ['variance', g.power]] : [['mean square', g.power]]);
    shared('backward', f, g => [['mean(g)', g.mean_g], ['mean(g·x̂)', g.mean_gx]].slice(norm.centred ? 0 : 1));
    for (const what of ['forward_calculation', 'backward_calculation', 'statistics', 'balance'])
      one(`[data-out="${what}"]`).innerHTML = say[what](s, f, b);
    terms(f, b);
    control('value').firstElementChild.innerHTML = say.name('x', s.at);
    knob('value', s.x[s.at], digits(s.x[s.at]), false), knob('eps', s.eps ? Math.log10(s.eps) : -12.25, digits(s.eps), none);
    knob('gamma', s.gamma, digits(s.gamma), none), knob('beta', s.beta, digits(s.beta), none || !norm.centred);
    for (const [what, v] of [['norm', s.kind], ['numbers', s.numbers], ['pull', s.pull]])
      for (const i of control(what).querySelectorAll('input')) i.checked = i.value === v;
    predictions(s, f, b);
  }

  const add = (what, html) => control(what).insertAdjacentHTML('beforeend', html);
  add('norm', Object.entries(NORMS).map(([k, n]) => choice('norm', k, `${picture(n)}<b>${n.name}</b> <small>${n.groups}</small>`)).join(''));
  add('numbers', Object.entries(NUMBERS).map(([k, [text]]) => choice('numbers', k, text)).join(''));
  add('pull', Object.entries(PULLS).map(([k, [text]]) => choice('pull', k, text)).join(''));
  for (const what of Object.keys(say.PREDICT)) {   // read aloud with the control, and the answers of the choices when they change
    add(what, `<p class="predict" id="predict-${what}"><span></span> <b${control(what).tagName === 'FIELDSET' ? ' role="status"' : ''}></b></p>`);
    for (const i of control(what).querySelectorAll('input')) i.setAttribute('aria-describedby', 'predict-' + what);
  }
  all('[data-matrix]').forEach(matrix);
  section.addEventListener('input', changed);
  for (const part of all('.choose, .work')) part.hidden = false;
  span(), show();
  section.dataset.ready = 'yes';
})();
