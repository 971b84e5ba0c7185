#!/usr/bin/env python3
"""Uses the section of twelve numbers as readers do, and compares what it computes with the library.
check_twelve.py FOLDER PLOTLY VALUES [--short] [--only PART,..] [--shots FOLDER]: FOLDER/report.html has the section, and VALUES is the output of
twelve_values. Plotly is taken out of the page, because the section must work without it."""
import argparse
import json
import math
import pathlib
import re
import sys
import tempfile

from playwright.sync_api import sync_playwright

from reader import OVER, Reader, accessible, check, fails, launch

ap = argparse.ArgumentParser()
ap.add_argument('folder', type=pathlib.Path)
ap.add_argument('plotly', type=pathlib.Path)
ap.add_argument('values', type=pathlib.Path)
ap.add_argument('--short', action='store_true')
ap.add_argument('--only', help='parts: numbers,texts,extremes,keys,looks')
ap.add_argument('--shots', type=pathlib.Path)
args, _ = ap.parse_known_args()
Reader.shots = args.shots
parts = (args.only or 'numbers,texts,extremes,keys,looks').split(',')
NORMS, NUMBERS = ('none', 'layer', 'batch', 'rms', 'group'), ('multiples', 'ordinary', 'constant', 'padding', 'outlier', 'tiny')
READY = "document.getElementById('twelve')?.dataset.ready === 'yes'"

# Functions for the page: choose a radio button, move a slider, write numbers, read what is shown.
HANDS = '''() => { const one = s => document.querySelector('#twelve ' + s), all = s => [...document.querySelectorAll('#twelve ' + s)];
  const say = (e, v) => { e.value = v; e.dispatchEvent(new Event('input', { bubbles: true })); };
  window.cells = m => all(`[data-matrix="${m}"] tbody td`);
  window.pick = (what, v) => { const e = one(`[data-control="${what}"] input[value="${v}"]`); e.checked = true; say(e, v); };
  window.slide = (what, v) => say(one('#twelve-' + what), v);
  window.write = (m, list) => list.forEach((v, k) => say(cells(m)[k].firstElementChild, String(v)));
  window.read = m => cells(m).map(td => +td.dataset.value);
  window.shown = what => one(`[data-out="${what}"]`).textContent;
  window.answer = what => one(`[data-control="${what}"] .predict b`).textContent;
  window.terms = () => all('.terms :is(tbody, tfoot) tr').map(r => [...r.querySelectorAll('td')].map(c => +c.textContent.replaceAll('−', '-')));
  window.where = () => { const td = document.activeElement.closest('td'), m = td?.closest('table').dataset.matrix;
    return td && [m, cells(m).indexOf(td)]; } }'''
RUN = '''cases => { let x = '', dy = ''; return cases.map(c => {
  if (x !== String(c.x)) write('x', c.x);
  if (dy !== String(c.dy)) write('dy', c.dy);
  x = String(c.x), dy = String(c.dy);
  pick('norm', c.norm), slide('eps', c.eps ? Math.round(Math.log10(c.eps)) : -12.25), slide('gamma', c.gamma);
  if (c.norm !== 'rms') slide('beta', c.beta);
  return [read('y'), read('dx'), read('x'), read('dy')]; }) }'''
OVERFLOW = '''() => [...document.querySelectorAll('#twelve :is(.shared li, .shared span, td, .predict, label > span)')]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth && getComputedStyle(e).display !== "inline" && !e.classList.contains('sr'))
  .map(e => e.className + e.textContent).slice(0, 3)'''


def number(text):
    return float(text.replace('−', '-'))


def numbers(p):
    """Forward and backward are those of the library, for each norm, epsilon, gamma and beta."""
    cases, worst = json.loads(args.values.read_text(encoding='utf-8')), {}
    for c, (y, dx, x, dy) in zip(cases, p.evaluate(RUN, cases)):
        if x != c['x'] or dy != c['dy']:
            return check(False, f'the numbers that were written are those of the page: {x} {c["x"]}')
        for mine, its in ((y, c['y']), (dx, c['dx'])):
            error = max(abs(a - b) for a, b in zip(mine, its)) / max(1, *map(abs, its))
            worst[c['norm']] = max(worst.get(c['norm'], 0), error if error == error else 1)
    check(set(worst) == set(NORMS[1:]) and len(cases) > 300, f'{len(cases)} cases of {", ".join(worst)}')
    for norm, error in worst.items():
        check(error < 1e-10, f'{norm}: y and dx are those of the library, with an error of at most {error:.1e}')


def texts(p):
    """The calculation, the terms and the findings agree with the numbers."""
    for norm in NORMS:
        for preset in NUMBERS:
            p.evaluate(f"pick('norm', '{norm}'), pick('numbers', '{preset}'), pick('pull', 'mixed'), slide('gamma', 1.5)")
            p.evaluate("cells('y')[5].firstElementChild.click()")
            y, dx = p.evaluate("[read('y')[5], read('dx')[5]]")
            for what, value in (('forward', y), ('backward', dx)):
                text = p.evaluate(f"shown('{what}_calculation')")
                said = text.split('=')[-1]
                mine = re.match(r'^(−?[\d.]+)?(?:·?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?$', said)
                power = int(mine[2].translate(str.maketrans('⁻⁰¹²³⁴⁵⁶⁷⁸⁹', '-0123456789'))) if mine and mine[2] else 0
                shown = number(mine[1] or '1') * 10 ** power if mine else float('nan')
                if not abs(shown - value) <= (6e-3 if power else 6e-4) * abs(value) + 1e-12:
                    check(False, f'{norm}, {preset}: {text} is {value}')
            rows = [] if norm == 'none' else p.evaluate('terms()')
            close = lambda list, total: abs(sum(list) - total) <= .03 * max(1, *map(abs, list))  # the numbers are rounded
            if not all(close(r[:3], r[3]) for r in rows[:-1]) or (rows and not all(close(c[:-1], c[-1]) for c in zip(*rows))):
                check(False, f'{norm}, {preset}: the terms {rows}')
    check(True, 'calculations and terms were compared with the numbers')
    says = {('layer', 'multiples'): 'Samples 1, 2 and 3', ('rms', 'multiples'): 'Samples 1 and 2', ('batch', 'padding'): '1.5 without',
            ('layer', 'padding'): 'one sample', ('layer', 'constant'): 'sample 2 are equal', ('layer', 'outlier'): 'The 100', ('batch', 'outlier'): 'The 100', ('layer', 'tiny'): 'less than ε',
            ('group', 'ordinary'): '−1 and 1'}
    for (norm, preset), words in says.items():
        p.evaluate(f"slide('gamma', 1), pick('norm', '{norm}'), pick('numbers', '{preset}')")
        text = p.evaluate("answer('numbers')")
        check(words in text, f'{norm}, {preset}: {text}')
    p.evaluate("pick('norm', 'layer'), write('x', [1e9, 0, 0, 0, -1e9, 0, 0, 0, 1, 2, 3, 4])")
    said = []
    for k in (0, 4):
        p.evaluate(f"cells('x')[{k}].firstElementChild.focus()")
        said.append(p.evaluate("shown('statistics')"))
    check('((7.5·10⁸)² + (−2.5·10⁸)²' in said[0] and '= −10⁹ ' in said[1], f'large numbers: {said}')
    p.evaluate("pick('numbers', 'ordinary')")
    # predictions: each asks until its control is moved, and asks again with another norm
    p.evaluate("pick('norm', 'layer')")
    asks = p.evaluate("[...document.querySelectorAll('#twelve .predict')].map(e => [e.firstElementChild.textContent, e.lastElementChild.textContent])")
    check(len(asks) == 7 and all(q.endswith('?') for q, _ in asks), f'{len(asks)} controls ask for a prediction')
    check([q for q, a in asks if a] == ['Which numbers will share a mean?'], 'and only the one that was moved has an answer')
    for what, move, words in (('eps', "slide('eps', -1)", 'ε = 3 · variance'), ('value', "slide('value', 3)", 'outputs move'),
                              ('gamma', "slide('gamma', -2)", '−2 times'), ('beta', "slide('beta', 1)", 'None'), ('pull', "pick('pull', 'ones')", 'None')):
        before = p.evaluate(f"answer('{what}')")
        p.evaluate(move)
        check(not before and words in p.evaluate(f"answer('{what}')"), f'{what}: ' + p.evaluate(f"answer('{what}')"))
    p.evaluate("pick('norm', 'batch')")
    check(not any(p.evaluate(f"answer('{what}')") for what in ('eps', 'value', 'gamma', 'beta', 'pull', 'numbers')), 'another norm asks again')


SEVENS, ONE, LONE, MULTIPLES = [7] * 12, [5, 5, 5, 6] + [1, 2, 3, 4] + [0, 1, 0, 2], [0, 0, 0, 7] + [0] * 8, [1, 2, 3, 6, 2, 4, 6, 12, 1, 2, 3, 6]
EXTREMES = [  # norm, x, epsilon, gamma, beta, the control that is asked, and words of its answer
    ('layer', SEVENS, 0, 1, 3, 'numbers', '0 / 0 counts as 0'), ('layer', SEVENS, 1e-5, 1, 3, 'numbers', 'ε prevents 0 / 0'),
    ('batch', SEVENS, 0, 1, 0, 'numbers', 'each output is β; 0 / 0'), ('group', SEVENS, 0, 1, 0, 'numbers', 'features 1 and 2 of sample 1 are equal'),
    ('rms', SEVENS, 0, 1, 0, 'numbers', 'its root mean square'), ('rms', [0] * 12, 0, 1, 0, 'numbers', 'are 0, and so are its outputs; 0 / 0'),
    ('rms', [0] * 12, 1e-5, 1, 0, 'eps', 'outputs are 0 for every ε'), ('layer', SEVENS, 1e-5, 1, 3, 'eps', 'outputs are β for every ε'),
    ('layer', ONE, 0, 1, 0, 'numbers', 'only the 6 differs from the others. However far away it is, its x̂ is 1.73'),
    ('layer', ONE, 1e-2, 1, 0, 'numbers', 'without ε its x̂ is 1.73'), ('rms', LONE, 0, 2, 0, 'numbers', '0 / 0 counts as 0'),
    ('layer', ONE, 0, 1, 0, 'value', 'None moves: the other values of sample 1 are equal'), ('layer', ONE, 1e-5, 1, 0, 'value', 'None moves noticeably'),
    ('rms', LONE, 0, 1, 0, 'value', 'None moves: the other values of sample 1 are 0'), ('layer', SEVENS, 0, 1, 0, 'value', '4 of 12 outputs move'),
    ('group', ONE, 0, 3, 1, 'value', 'stays at −1 and 1'), ('group', ONE, 1e-5, 3, 1, 'value', 'stays close to −1 and 1'),
    ('rms', [0] * 12, 1e-5, 1, 0, 'value', '1 of 12 outputs moves'), ('group', ONE, 1, 1, 0, 'value', '2 of 12 outputs move'),
    ('layer', MULTIPLES, 0, 1, 0, 'numbers', 'Samples 1 and 2 have different inputs and the same outputs'),
    ('layer', MULTIPLES, 1, 1, 0, 'numbers', 'differ by up to about 0.1, and not at all without ε'),
    ('layer', 'ordinary', .1, 1, 0, 'numbers', 'deviation 0.93 to 0.97 (1 without ε)'), ('layer', 'ordinary', 0, 1, 3, 'numbers', 'deviation 1.'),
    ('group', 'ordinary', 1e-3, 1, 0, 'numbers', 'without ε; with this ε they are'), ('group', 'ordinary', 0, 1, 0, 'numbers', 'always become −1 and 1'),
    ('layer', 'ordinary', 100, 1, 3, 'numbers', 'The outputs, without β, are'), ('rms', 'ordinary', 1, -3, 0, 'gamma', 'all outputs, are −3 times'),
    ('layer', 'ordinary', 0, 1, 0, 'eps', 'Now ε is 0.'), ('layer', 'ordinary', 1e-12, 1, 0, 'eps', 'ε changes them by less than 0.05 %'),
    ('layer', 'ordinary', 0, 1, 0, 'xhat', 'None: ε is 0'), ('layer', 'ordinary', 100, 1, 0, 'xhat', '12 of 12; the largest'),
    ('batch', 'ordinary', 100, 1, 0, 'ones', 'None: the outputs of a group keep their sum'), ('group', 'ordinary', 0, 1, 0, 'one', 'None: this output'),
    ('rms', [0] * 12, 1e-5, 1, 0, 'one', '1 of 12: here'), ('rms', SEVENS, 0, 1, 0, 'ones', 'None: the values of each sample are equal'),
    ('batch', SEVENS, 0, 1, 0, 'mixed', '1 / 0 counts as 0'),
] + [(norm, 'ordinary', 1e-5, 0, 3, what, words) for norm in NORMS[1:] for what, words in (
    ('numbers', f'γ is 0, so every output is {"0" if norm == "rms" else "β"}'), ('value', 'None: γ is 0'), ('eps', 'At none: γ is 0'),
    ('gamma', 'all dx are 0'), ('xhat', 'None: γ is 0'))]


def extremes(p):
    """The sentences are true where epsilon or gamma is 0, epsilon is large, values are equal, or one value differs from all others."""
    before, wrong = len(fails), []
    for norm, x, eps, gamma, beta, what, words in EXTREMES:
        pull, control = (what, 'pull') if what in ('mixed', 'one', 'ones', 'xhat') else ('mixed', what)
        numbers = f"pick('numbers', '{x if isinstance(x, str) else 'ordinary'}')"
        p.evaluate(f"pick('norm', '{norm}'), {numbers}, cells('x')[3].firstElementChild.focus(), slide('value', 1)")
        p.evaluate(f"slide('eps', {math.log10(eps) if eps else -12.25}), slide('gamma', {gamma}), pick('pull', '{pull}')")
        if norm != 'rms':
            p.evaluate(f"slide('beta', {beta})")
        p.evaluate(numbers if control == 'numbers' or isinstance(x, str) and control != 'value' else '0')
        if not isinstance(x, str):
            p.evaluate(f"write('x', {x})")
        if control in ('eps', 'gamma', 'beta', 'pull'):  # asked again after new numbers
            p.evaluate({'eps': f"slide('eps', {math.log10(eps) if eps else -12.25})", 'gamma': f"slide('gamma', {gamma})", 'beta': f"slide('beta', {beta})",
                        'pull': f"pick('pull', '{pull}')"}[control])
        text = p.evaluate(f"answer('{control}')")
        said = text + p.evaluate("shown('balance')")
        if words not in text or re.search('NaN|undefined|Infinity', said) or (not eps and re.search('without ε|ε prevents', said)):
            wrong.append((norm, x, eps, gamma, what, text))
        moved = re.match(r'(\d+) of 12', text) if control == 'pull' else None
        if control == 'pull' and int(moved[1] if moved else 0) != p.evaluate("read('dx').filter(v => Math.abs(v) > 1e-9).length"):
            wrong.append((norm, x, eps, gamma, what, text, 'is not the number of dx'))
    for w in wrong:
        check(False, f'extremes: {w}')
    check(len(fails) == before, f'{len(EXTREMES)} sentences at extreme settings')


def keys(p):
    """Everything can be done with the keyboard."""
    press, focus = p.keyboard.press, lambda s: p.locator('#twelve ' + s).focus()
    focus('[data-control="norm"] input:checked')
    press('ArrowRight')
    check(p.get_attribute('#twelve', 'data-kind') == 'batch', 'an arrow key changes the norm')
    press('ArrowLeft')
    focus('#twelve-gamma')
    press('End')
    said = p.evaluate("(e => [e.ariaValueText, document.getElementById(e.getAttribute('aria-describedby')).textContent])(document.activeElement)")
    check(said[0] == '3' and 'γ = −1' in said[1], 'End sets gamma to 3, and the slider says so and has its prediction')
    check(p.evaluate("(() => { const y = read('y'); return Math.abs(y[3] - 4.81) < .01 })()"), 'and the outputs follow')
    press('Tab')
    press('Tab')
    check(p.evaluate('where()') == ['x', 3], 'Tab goes from the sliders to the chosen value of x')
    before = p.evaluate("read('y')")
    p.keyboard.type('7')
    after = p.evaluate("read('y')")
    check(p.evaluate("read('x')[3]") == 7 and after[:4] != before[:4] and after[4:] == before[4:], 'typing 7 replaces the 6, and changes only this sample')
    check(p.locator('#twelve [data-control="numbers"] :checked').count() == 0, 'and no choice of numbers is marked')
    press('Enter')
    check(p.evaluate('where()') == ['x', 7], 'Enter goes down')
    press('ArrowLeft')
    press('ArrowUp')
    check(p.evaluate('where()') == ['x', 2], 'arrows move')
    p.keyboard.type('-')
    check(p.evaluate("[document.activeElement.getAttribute('aria-invalid'), read('x')[2]]") == ['true', 3], 'a minus alone is not a number and changes nothing')
    p.keyboard.type('4,5')
    check(p.evaluate("[document.activeElement.value, read('x')[2]]") == ['-4,5', -4.5], '-4,5 is taken, and stays as it was typed')
    press('ArrowLeft')
    check(p.evaluate('where()') == ['x', 2], 'inside a number the left arrow moves the caret')
    press('Tab')
    check(p.evaluate('where()') == ['y', 2], 'Tab goes to the output')
    press('ArrowDown')
    press('ArrowRight')
    check(p.evaluate('where()') == ['y', 7] and 'y1,3' in p.evaluate("shown('forward_calculation')"), 'arrows move there, too, and choose nothing')
    press('Enter')
    pressed = p.evaluate('document.activeElement.ariaPressed')
    check('y2,4' in p.evaluate("shown('forward_calculation')") and pressed == 'true', 'Enter shows the calculation of this value')
    check(p.evaluate("cells('y').filter(td => td.firstElementChild.tabIndex === 0).length") == 1, 'a matrix is one stop for Tab')
    p.locator('#twelve [data-matrix="dx"] button').nth(8).click()
    check('dx3,1' in p.evaluate("shown('backward_calculation')"), 'a click on dx chooses it')
    p.evaluate("cells('dy')[4].firstElementChild.focus()")
    p.keyboard.type('9')
    check(p.evaluate("read('dy')[4]") == 9 and p.locator('#twelve [data-control="pull"] :checked').count() == 0, 'dy can be edited')
    p.evaluate("pick('norm', 'rms')")
    check(p.locator('#twelve-beta').is_disabled(), 'RMSNorm has no beta')
    p.evaluate("pick('norm', 'none')")
    check(p.locator('#twelve-eps').is_disabled() and p.locator('#twelve .terms').is_hidden(), 'without a norm there is no epsilon and no term')


def looks(browser, page):
    for width in (320, 1400) if args.short else (320, 390, 768, 1000, 1400):
        with Reader(browser, viewport={'width': width, 'height': 900}, has_touch=width < 500, is_mobile=width < 500) as r:
            p, bad = r.open(page, READY), []
            p.evaluate(HANDS)
            for norm in NORMS:
                for preset in NUMBERS:
                    p.evaluate(f"pick('norm', '{norm}'), pick('numbers', '{preset}'), slide('eps', -3), slide('value', -2)")
                    over, who = p.evaluate(OVER)
                    who += p.evaluate(OVERFLOW)
                    bad += [(norm, preset, over, who)] if over > 0 or who else []
            check(not bad, f'{width} px: nothing is too wide {bad[:2]}')
    with Reader(browser) as r:
        p = r.open(page, READY)
        p.evaluate(HANDS)
        for scheme in ('light', 'dark'):
            p.emulate_media(color_scheme=scheme)
            for norm in ('layer',) if args.short else NORMS:
                p.evaluate(f"pick('norm', '{norm}'), pick('numbers', 'ordinary'), slide('eps', -1), slide('value', -2), pick('pull', 'mixed')")
                accessible(p, f'{scheme}, {norm}', '#twelve')
            if args.shots:
                p.locator('#twelve').screenshot(path=args.shots / f'twelve_{scheme}.png')
        p.emulate_media(media='print', color_scheme='dark')
        shown = p.locator('#twelve [data-matrix="y"] button').first.is_visible()
        check(shown and not p.locator('#twelve .choose').is_visible(), 'print: numbers and no controls')
    with Reader(browser, java_script_enabled=False) as r:
        p = r.open(page, None)
        seen = [p.locator('#twelve ' + s).first.is_visible() for s in ('.for-mean', 'noscript p', '.choose')]
        check(seen == [True, True, False], 'scripts off: formulas and a notice')


def main(pw, folder):
    text, library = (args.folder / 'report.html').read_text(encoding='utf-8'), args.plotly.read_text(encoding='utf-8')
    page = folder / 'report.html'
    page.write_text(re.sub('<body[^>]*>', '<body>', text.replace('<script>' + library + '</script>\n', ''), count=1), encoding='utf-8')
    browser = launch(pw)
    for part in (numbers, texts, extremes, keys):
        if part.__name__ not in parts:
            continue
        with Reader(browser) as r:
            p = r.open(page, READY)
            p.evaluate(HANDS)
            part(p)
            check(not r.said and not r.asked, f'{part.__name__}: no error, no request {r.said[:3]} {r.asked[:3]}')
    if 'looks' in parts:
        looks(browser, page)
    browser.close()


if args.shots:
    args.shots.mkdir(parents=True, exist_ok=True)
with sync_playwright() as playwright, tempfile.TemporaryDirectory() as made:
    main(playwright, pathlib.Path(made))
print(f'{args.folder}, twelve numbers: ' + (f'{len(fails)} checks FAILED' if fails else 'all checks passed'))
sys.exit(bool(fails))
