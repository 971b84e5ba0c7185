/* table.js - what needs no Plotly. It closes the parts of the page that can be folded, and opens them for the printer. Buttons above a table of verdicts
 * show the rows of one verdict, and a link from a figure shows the rows about it. */
(() => {
  'use strict';
  const folds = [...document.querySelectorAll('details.fold')];
  let closed = folds;
  for (const fold of folds) fold.open = false;
  addEventListener('beforeprint', () => { closed = folds.filter(fold => !fold.open); for (const fold of closed) fold.open = true; });
  addEventListener('afterprint', () => { for (const fold of closed) fold.open = false; });

  const LONG = 30;                                 // a longer table begins with the rows that do not pass
  const make = (tag, props) => Object.assign(document.createElement(tag), props);
  const verdict = row => row.querySelector('.v')?.textContent;

  function filter(table) {
    const rows = [...table.tBodies[0].rows], kinds = [...new Set(rows.map(verdict).filter(Boolean))];
    const bar = make('div', { className: 'filter' }), out = make('output', {}), here = { verdict: '', figure: '' };
    const button = (text, press, pressed) => {
      const b = make('button', { type: 'button', textContent: text, onclick: () => { press(); show(); } });
      bar.append(b);
      return () => b.setAttribute('aria-pressed', pressed());
    };
    const count = kind => rows.filter(row => verdict(row) === kind).length;
    const pass = kinds.find(kind => kind.endsWith('PASS')), others = rows.filter(row => verdict(row) !== pass).length;
    const only = (kind, text) => button(text, () => { here.verdict = here.verdict === kind ? '' : kind; }, () => here.verdict === kind);
    const marks = [button(`All ${rows.length}`, () => { here.verdict = here.figure = ''; }, () => !here.verdict && !here.figure)];
    if (others && others < rows.length) marks.push(only('others', `Not PASS ${others}`));
    marks.push(...kinds.map(kind => only(kind, `${kind} ${count(kind)}`)));
    if (rows.length > LONG && others) here.verdict = 'others';
    const fits = row => !here.verdict || (here.verdict === 'others' ? verdict(row) !== pass : verdict(row) === here.verdict);
    function show() {
      for (const row of rows) row.hidden = !fits(row) || (here.figure && row.dataset.figure !== here.figure);
      for (const mark of marks) mark();
      const name = here.figure && document.querySelector(`[id="${here.figure}"] h2`).textContent;
      out.value = `${rows.filter(row => !row.hidden).length} of ${rows.length}` + (name ? `, about the figure \u201c${name}\u201d` : '');
    }
    for (const link of document.querySelectorAll(`a[data-figure][href="#${table.closest('figure').id}"]`))
      link.addEventListener('click', () => { here.verdict = ''; here.figure = link.dataset.figure; show(); });
    bar.append(out);
    (table.closest('.scroll') ?? table).before(bar);
    show();
  }
  for (const table of document.querySelectorAll('.wide table')) if (table.querySelector('tr[data-figure] td.v')) filter(table);
})();
