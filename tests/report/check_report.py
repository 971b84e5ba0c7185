#!/usr/bin/env python3
"""Opens a report in Chromium as readers do: with mouse, keyboard, phone, dark theme and printer; without network, Plotly, WebGL or scripts.
check_report.py FOLDER PLOTLY [--short] [--only PART,..] [--shots FOLDER]: FOLDER/report.html contains Plotly or does not; the other form is made from it."""
import argparse
import base64
import hashlib
import pathlib
import re
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

from clouds import EYE, turns
from reader import OVER, Reader, accessible, check, fails, launch, until

ap = argparse.ArgumentParser()
ap.add_argument('folder', type=pathlib.Path)
ap.add_argument('plotly', type=pathlib.Path)
ap.add_argument('--short', action='store_true')
ap.add_argument('--only', help='parts: folds,looks,axes,plays,turns,hovers,filters,themes,still,widths,calm,flat')
ap.add_argument('--shots', type=pathlib.Path)
args = ap.parse_args()
args.folder = args.folder.resolve()
WEB = re.compile('^https?:')  # 'https://**' does not match https://host/file
Reader.shots, began = args.shots, time.time()
parts = (args.only or 'folds,looks,axes,plays,turns,hovers,filters,still' + ('' if args.short else ',themes,widths,calm,flat')).split(',')

COLOURS = '''async b64 => { const i = new Image(); i.src = 'data:image/png;base64,' + b64; await i.decode();
  const c = new OffscreenCanvas(i.width, i.height), g = c.getContext('2d'); g.drawImage(i, 0, 0);
  const d = new Uint32Array(g.getImageData(0, 0, i.width, i.height).data.buffer), n = new Map(); for (const v of d) n.set(v, (n.get(v) || 0) + 1);
  return [n.size, 1 - Math.max(...n.values()) / d.length]; }'''
VALIDATE = '''() => [...document.querySelectorAll('script[type="application/json"]')].flatMap(s => { const f = JSON.parse(s.textContent);
  return (Plotly.validate(f.data, f.layout) || []).filter(m => !/\\.args\\[/.test(m.msg)).map(m => s.id + ': ' + m.msg) })'''
OPEN = '''() => { for (const fold of document.querySelectorAll('details')) fold.open = true; }'''
LIVE = "document.querySelectorAll('.live > .plot').length === document.querySelectorAll('.plot').length"
LENGTH = {1400: 20000, 400: 24000}  # at most so many pixels: readers scroll
STILL = '''() => [...document.querySelectorAll('.box > svg')].every(s => getComputedStyle(s).visibility === 'visible' && s.getBoundingClientRect().width > 50)'''
CUT = '''() => [...document.querySelectorAll('.live > .plot')].flatMap(p => { const box = p.getBoundingClientRect();
  return [...p.querySelectorAll('.xtick text, .ytick text, .g-xtitle text, .g-ytitle text')].filter(e => { const r = e.getBoundingClientRect();
    return r.width && (r.left < box.left - 1 || r.right > box.right + 1 || r.bottom > box.bottom + 1 || r.top < box.top - 1) }).map(e => p.id + ': ' + e.textContent) }).slice(0, 5)'''
CROWDED = '''() => [...document.querySelectorAll('.live > .plot')].flatMap(p => ['.xtick text', '.ytick text'].flatMap(s => { const r = [...p.querySelectorAll(s)].filter(e => !/rotate\\((?!0)/.test(e.getAttribute('transform') || '')).map(e => e.getBoundingClientRect());
  return r.some((a, i) => r.some((b, j) => j > i && a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom)) ? [p.id + ' ' + s] : [] })).slice(0, 5)'''


def pages(folder):
    """The page with Plotly in it and the page without; the missing one is made from the other."""
    page = args.folder / 'report.html'
    text, library = page.read_text(encoding='utf-8'), args.plotly.read_text(encoding='utf-8')
    tag, body = '<script>' + library + '</script>\n', re.search(r'<body[^>]*>', text).group()
    sri = 'sha256-' + base64.b64encode(hashlib.sha256(args.plotly.read_bytes()).digest()).decode()
    other = folder / 'other.html'
    if tag in text:
        cdn = args.folder / 'report_cdn.html'
        if not cdn.exists():
            cdn = other
            csp = text.replace("script-src 'unsafe-inline'", "script-src 'unsafe-inline' https://cdn.plot.ly", 1)
            cdn.write_text(csp.replace(tag, '').replace('<body>', f'<body data-plotly="https://cdn.plot.ly/plotly-4.1.1.min.js" data-sri="{sri}">', 1), encoding='utf-8')
        return page, cdn
    check(f'data-sri="{sri}"' in body, 'the integrity is that of the package on PyPI')
    at = text.rindex('<script>\n')
    other.write_text(text[:at].replace(body, '<body>', 1) + tag + text[at:], encoding='utf-8')
    return other, page


def folds(p):
    """Long texts, tables and some parts are closed; the keyboard opens them and then their plots are drawn; print has everything."""
    closed = p.locator('details.fold:not([open])').count()
    check(closed == p.locator('details').count() > 0, f'{closed} folds are closed')
    part = p.locator('details.part').first
    plots, live = part.locator('.plot').count(), lambda: part.locator('.live > .plot').count()
    before = live()
    part.locator('summary').focus()
    p.keyboard.press('Enter')
    until(p, f"document.querySelectorAll('details.part .live > .plot').length >= {plots}")
    check(before == 0 and live() == plots > 0, f'Enter opens a part of {plots} plots, which are drawn then')
    key = lambda i: p.evaluate("i => [...document.querySelector('details.part').closest('.fig').querySelectorAll('.controls')][i].innerText", i)
    check(p.evaluate("document.querySelector('details.part').closest('.fig').querySelectorAll('.controls').length") > 1 and key(0) != key(1), f'its key is its own')
    p.keyboard.press('Enter')
    check(not part.evaluate('e => e.open'), 'Enter closes it')
    seen = '''() => [...document.querySelectorAll('figcaption p, .wide tr, .box > svg')].filter(e => !e.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })
      || e.getBoundingClientRect().height < 5).length'''
    p.emulate_media(media='print')
    hidden = p.evaluate(seen)
    p.emulate_media(media='screen')
    check(hidden == 0 and p.evaluate(seen) > 0, f'print: {hidden} paragraphs, rows and drawings of closed folds are hidden')


def axes(p):
    """Two radio buttons choose steps or seconds on the x axis, and the frames follow."""
    fig = p.locator('.fig:has(.axis)').first
    name, plot = fig.get_attribute('id'), fig.locator('.live > .plot').first
    title, last = lambda: plot.evaluate('e => e.layout.xaxis.title.text'), lambda: plot.evaluate("e => e.data.filter(d => d.mode === 'markers').map(d => d.x[0])")
    curve = lambda: plot.evaluate("e => e.data.filter(d => d.mode === 'lines' && d.line.width).map(d => [d.x.length, d.x.at(-1), d.y.length])")
    labels, steps, ends = fig.locator('.axis label').all_text_contents(), title(), last()
    radio = fig.locator('.axis input')
    check(len(labels) == 2 and radio.first.is_checked() and labels[0].strip() == steps, f'{name}: the axes are {labels}, and {steps} is shown at first')
    radio.first.focus()
    p.keyboard.press('ArrowRight')
    until(p, f"document.querySelector('#{name} .live > .plot').layout.xaxis.title.text === '{labels[1].strip()}'")
    p.wait_for_timeout(700)
    seconds = last()
    check(title() == labels[1].strip() and len(set(seconds)) > 1 and set(ends) != set(seconds), f'{name}: an arrow key chooses {title()}: the curves end at {seconds}')
    check(all(n == m and x == s for (n, x, m), s in zip(curve(), seconds)), f'{name}: and their last points are there {curve()}')
    slider = fig.locator('input[type=range]')
    slider.focus()
    p.keyboard.press('Home')
    p.keyboard.press('ArrowRight')
    p.wait_for_timeout(700)
    check(all(n == 2 and x == s for (n, x, _), s in zip(curve(), last())), f'{name}: frame 1 has two points in seconds {curve()}')
    p.keyboard.press('End')
    p.wait_for_timeout(700)
    radio.nth(1).focus()
    p.keyboard.press('ArrowLeft')
    until(p, f"document.querySelector('#{name} .live > .plot').layout.xaxis.title.text === '{steps}'")
    p.wait_for_timeout(1500)
    check(last() == ends, f'{name}: and back to {title()}')


def looks(r, p):
    """No message, no network request, everything is drawn, nothing is cut off."""
    plots = p.query_selector_all('.plot')
    check(len(plots) > 0 and p.locator('.live > .plot').count() == len(plots), f'{p.locator(".live > .plot").count()} of {len(plots)} plots live')
    bad = p.evaluate(VALIDATE)
    check(not bad, f'Plotly.validate finds nothing {bad[:5]}')
    low = []
    for e in plots:
        n, ink = p.evaluate(COLOURS, base64.b64encode(e.screenshot()).decode())
        if n < 8 or ink < .004:
            low.append((e.get_attribute('id'), n, round(ink, 4)))
    check(not low, f'every plot has ink {low}')
    cut, crowded = p.evaluate(CUT), p.evaluate(CROWDED)
    check(not cut, f'no label of an axis is cut off {cut}')
    check(not crowded, f'no labels of an axis lie over each other {crowded}')
    links = p.evaluate("[...document.querySelectorAll('.contents a')].map(a => !!document.querySelector(a.hash))")
    check(len(links) == p.locator('main > .fig, main > section[id]').count() and all(links), f'{len(links)} figures and sections are listed at the top')
    r.shot('light_1400')


def plays(p, fig):
    """Slider and Play by keyboard."""
    frame = lambda: int(p.evaluate(f"document.querySelector('{fig} input').value"))
    drawn = lambda: p.get_attribute(fig, 'data-frame')
    slider, first = p.locator(fig + ' input[type=range]'), p.locator(fig + ' .live > .plot').first
    first.scroll_into_view_if_needed()
    last, pic = drawn(), first.screenshot()
    slider.focus()
    p.keyboard.press('Home')
    until(p, f"document.querySelector('{fig} input').value === '0' && document.querySelector('{fig}').dataset.frame !== '{last}'")
    zero, value = drawn(), slider.get_attribute('aria-valuetext')
    p.wait_for_timeout(200)
    check(first.screenshot() != pic and ' of ' in value, f'{fig}: Home shows the first frame, "{value}"')
    p.keyboard.press('ArrowRight')
    until(p, f"document.querySelector('{fig}').dataset.frame !== '{zero}'")
    check(frame() == 1, f'{fig}: an arrow moves one frame, to {drawn()}')
    p.keyboard.press('Home')
    until(p, f"document.querySelector('{fig}').dataset.frame === '{zero}'")
    button, most = p.locator(fig + ' .player button'), int(slider.get_attribute('max'))
    button.focus()
    p.keyboard.press('Enter')
    if most < 6:  # too short to be stopped on the way
        until(p, f"document.querySelector('{fig} .player button').ariaPressed === 'false' && +document.querySelector('{fig} input').value === {most}")
        check(frame() == most, f'{fig}: Play runs to the end')
    else:
        until(p, f"+document.querySelector('{fig} input').value > 0")
        pressed = button.get_attribute('aria-pressed')
        p.keyboard.press('Enter')
        p.wait_for_timeout(500)
        at = frame()
        p.wait_for_timeout(700)
        check(pressed == 'true' and button.get_attribute('aria-pressed') == 'false' and 0 < frame() == at, f'{fig}: Play runs, and stays paused at {drawn()}')
    slider.focus()
    p.keyboard.press('End')
    until(p, f"document.querySelector('{fig}').dataset.frame === '{last}'")


def hovers(p):
    """The mouse over one panel shows the values of all panels of the figure that have the same x axis, and no others."""
    fig = p.evaluate("""[...document.querySelectorAll('.fig')].find(f => { const axis = q => q.layout.hovermode === 'x unified' && q.layout.xaxis.title?.text;
      const all = [...f.querySelectorAll('.live > .plot')].map(axis); return all[0] && all.filter(a => a === all[0]).length > 1; })?.id""")
    if not check(fig, f'a figure has two panels with the same axis: {fig}'):
        return
    plots = p.locator(f'#{fig} .live > .plot')
    p.mouse.move(0, 0)
    plots.first.scroll_into_view_if_needed()
    box = plots.first.bounding_box()
    at = box['x'] + plots.first.evaluate("q => { const a = q._fullLayout.xaxis, x = q.data.find(d => d.x?.length > 1).x; return a._offset + a.d2p(x[x.length >> 1]); }")
    p.mouse.move(at - 3, box['y'] + box['height'] * .5)
    p.mouse.move(at, box['y'] + box['height'] * .5)
    p.wait_for_timeout(500)
    told = p.evaluate("""id => { const all = [...document.querySelectorAll(`#${id} .live > .plot`)], axis = q => q.layout.xaxis?.title?.text;
      return all.map(q => [axis(q) === axis(all[0]), q.querySelector('.hoverlayer .legendtitletext')?.textContent ?? '']); }""", fig)
    linked = {text for same, text in told if same}
    check(len(linked) == 1 and '' not in linked and not any(text for same, text in told if not same), f'{fig}: {sum(same for same, _ in told)} panels show {linked}')
    p.mouse.move(0, 0)
    p.wait_for_timeout(500)
    check(p.locator(f'#{fig} .hoverlayer .legendtitletext').count() == 0, 'and nothing when the mouse has left')


def filters(p):
    """The table of verdicts shows one verdict, or the statements about a figure, and its rows lead to their figures and back."""
    table = p.locator('.wide table:has(tr[data-figure])')
    rows = lambda: table.locator('tbody tr:visible').count()
    bar, every, passing = p.locator('.filter'), table.locator('tbody tr').count(), table.locator('tbody tr:has(td.pass)').count()
    buttons = bar.locator('button')
    check(rows() == (every if every <= 30 or every == passing else every - passing), f'{every} rows, and {rows()} shown at first')
    buttons.first.click()
    check(buttons.first.get_attribute('aria-pressed') == 'true' and f'All {every}' == buttons.first.text_content() and rows() == every, 'All shows all rows')
    for i in range(1, buttons.count()):
        buttons.nth(i).focus()
        p.keyboard.press('Enter')
        kind, n = buttons.nth(i).text_content().rsplit(' ', 1)
        seen = set(table.locator('tbody tr:visible td.v').all_text_contents())
        check(rows() == int(n) and (seen == {kind} or kind == 'Not PASS' and not any('PASS' in s for s in seen)) and bar.locator('output').text_content() == f'{n} of {every}', f'{kind}: {n} rows')
    p.keyboard.press('Enter')
    check(rows() == every, 'pressed again, all rows are back')
    link = p.locator('.back a').first
    n = int(link.text_content().split()[0])
    link.click()
    check(rows() == n and p.evaluate('location.hash') == link.get_attribute('href'), f'a figure leads to its {n} statements')
    place = table.locator('tbody tr:visible a').first
    place.click()
    check(p.evaluate('location.hash') == '#' + link.get_attribute('data-figure'), 'and a statement to its figure')
    p.emulate_media(media='print')
    check(rows() == every and not bar.is_visible(), 'print: all rows')
    p.emulate_media(media='screen')
    buttons.first.click()
    check(rows() == every, 'All shows all rows')


def themes(r, p, cloud):
    """A change to the dark theme keeps the camera. In print there are still drawings on light paper, although the reader's theme is dark."""
    before = cloud and p.evaluate(EYE, cloud)
    accessible(p, 'light')
    radio, title = p.locator('.fig .axis input').nth(1), "document.querySelector('.fig:has(.axis) .live > .plot').layout.xaxis.title.text"
    first = p.evaluate(title)
    radio.check()
    until(p, f'{title} !== {first!r}')
    p.emulate_media(color_scheme='dark')
    until(p, "[...document.querySelectorAll('.live > .plot')].every(p => p.layout.paper_bgcolor === '#15171a')", 120)
    check(p.evaluate(title) != first, 'dark: the axis stays')
    p.wait_for_timeout(1500)
    check(p.evaluate('getComputedStyle(document.body).backgroundColor') == 'rgb(21, 23, 26)', 'dark: dark paper')
    check(p.evaluate("[...document.querySelectorAll('.plot path.js-line')].some(e => getComputedStyle(e).stroke === 'rgb(93, 184, 242)')"), 'dark: so are the curves')
    if cloud:
        check(p.evaluate(EYE, cloud) == before, 'dark: the camera stays')
    accessible(p, 'dark')
    r.shot('dark_1400')
    p.emulate_media(media='print', color_scheme='dark')
    hidden = p.evaluate("[...document.querySelectorAll('.plot')].every(e => getComputedStyle(e).display === 'none')")
    check(hidden and p.evaluate(STILL), 'print: still drawings instead of plots')
    check(p.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--paper')") == '#ffffff' and not p.locator('.player').first.is_visible(), 'print: light, no controls')
    pdf = p.pdf(path=args.shots / 'print.pdf' if args.shots else None, format='A4', print_background=True)
    check(0 < len(re.findall(rb'/Type /Page[^s]', pdf)) < 60, f'PDF of {len(pdf)} bytes, {len(re.findall(rb"/Type /Page[^s]", pdf))} pages')
    p.emulate_media(media='screen', color_scheme='light')
    p.wait_for_timeout(1500)


def widths(browser, inlined):
    for w in (320, 1400) if args.short else (320, 400, 768, 1400):
        with Reader(browser, viewport={'width': w, 'height': 800}, color_scheme='dark' if w == 400 else 'light') as r:
            p, high = r.open(inlined), r.page.evaluate('document.documentElement.scrollHeight')
            check(high <= LENGTH.get(w, high), f'{w} px: {high:,} px long')
            p.evaluate(OPEN)
            until(p, LIVE, 120)
            over, who = p.evaluate(OVER)
            check(over <= 0 and not who, f'{w} px: no sideways scroll ({over} {who})')
            cut, crowded = r.page.evaluate(CUT), r.page.evaluate(CROWDED)
            check(not cut and not crowded, f'{w} px: labels of axes are whole and apart {cut} {crowded}')
            r.shot(f'width_{w}')


def calm(browser, inlined, fig):
    with Reader(browser, reduced_motion='reduce') as r:
        p = r.open(inlined)
        value = lambda: int(p.evaluate(f"document.querySelector('{fig} input').value"))
        check(value() == int(p.get_attribute(fig + ' input', 'max')), 'nothing plays by itself')
        p.locator(fig + ' .player button').click()
        p.wait_for_timeout(600)
        a = value()
        p.wait_for_timeout(2000)
        b = value()
        check(a <= 1 and b - a in (1, 2, 3), f'reduced motion: about one frame a second ({a} -> {b})')


def without_plotly(browser, cdn, count):
    with Reader(browser) as r:
        r.ctx.route(WEB, lambda q: q.abort())
        p = r.open(cdn, ready=None)
        p.wait_for_selector('#notice:visible')
        check(len(r.asked) == 1 and r.asked[0].startswith('https://cdn.plot.ly/'), f'one request {r.asked}')
        check(len(r.said) <= 1 and all('ERR_FAILED' in s for s in r.said), f'and only its failure is logged {r.said}')
        p.evaluate(OPEN)
        check(p.evaluate(STILL), 'CDN refused: all still drawings show')
        check(p.locator('.player').count() == 0 and p.locator('.controls button').count() == 0, 'CDN refused: no dead controls')
        r.shot('still_1400')
        if not args.short:
            accessible(p, 'still drawings')
    answer = {'content_type': 'text/javascript', 'headers': {'Access-Control-Allow-Origin': '*'}}
    with Reader(browser) as r:
        r.ctx.route(WEB, lambda q: q.fulfill(body='alert(1)', **answer))
        p = r.open(cdn, ready=None)
        p.wait_for_selector('#notice:visible')
        p.evaluate(OPEN)
        check(any('integrity' in s for s in r.said) and p.evaluate(STILL), 'a changed Plotly is refused')
    with Reader(browser, java_script_enabled=False) as r:
        p = r.open(cdn, ready=None)
        drawings, shown = p.locator('.box > svg'), p.locator('.box > svg:visible').count()
        check(p.locator('noscript p').first.is_visible() and shown == drawings.count() and not r.said, f'scripts off: {shown} still drawings, none in a closed fold')
    if args.short:
        return
    with Reader(browser) as r:
        r.ctx.route(WEB, lambda q: q.fulfill(path=args.plotly, **answer))
        p = r.open(cdn)
        p.evaluate(OPEN)
        until(p, LIVE, 120)
        check(not r.said and p.locator('.live').count() == count, f'CDN answered: all live {r.said[:2]}')


def main(pw, folder):
    inlined, cdn = pages(folder)
    check(inlined.stat().st_size <= 8e6 and cdn.stat().st_size <= 3e6, f'{inlined.stat().st_size:,} bytes with Plotly, {cdn.stat().st_size:,} without')
    browser = launch(pw)
    print('      Chromium', browser.version)
    cloud = None
    with Reader(browser) as r:
        t = time.time()
        p = r.open(inlined)
        print(f'      ready in {time.time() - t:.1f} s')
        count = p.locator('.plot').count()
        if 'folds' in parts:
            folds(p)
        p.evaluate(OPEN)
        until(p, LIVE, 120)
        if 'looks' in parts:
            looks(r, p)
        if 'axes' in parts:
            axes(p)
        moving = p.evaluate("[...document.querySelectorAll('.fig')].filter(f => f.querySelector('.player')).map(f => '#' + f.id)")
        turning = p.evaluate("[...document.querySelectorAll('.fig')].filter(f => f.querySelector('[title=\"Turn left\"]')).map(f => '#' + f.id)")
        scenes = p.evaluate("[...document.querySelectorAll('.plot')].filter(p => p.layout.scene).length")
        check(len(moving) > 0 and len(turning) > 0, f'{len(moving)} figures play, {len(turning)} turn')
        for fig in moving[:(2 if args.short else None) if 'plays' in parts else 0]:
            plays(p, fig)
        for fig in turning if 'turns' in parts else []:
            cloud = turns(p, fig)
        if 'hovers' in parts:
            hovers(p)
        if 'filters' in parts:
            filters(p)
        if 'themes' in parts:
            themes(r, p, cloud)
        check(not r.said, f'no console error, no page error {r.said[:3]}')
        check(not r.asked, f'no network request {r.asked[:3]}')
    if 'still' in parts:
        without_plotly(browser, cdn, count)
    if 'widths' in parts:
        widths(browser, inlined)
    if 'calm' in parts:
        calm(browser, inlined, moving[0])
    browser.close()
    if 'flat' in parts:
        browser = launch(pw, '--disable-3d-apis')
        with Reader(browser) as r:
            p = r.open(inlined)
            p.evaluate(OPEN)
            until(p, f"document.querySelectorAll('.live').length === {count - scenes}", 120)
            live = p.locator('.live').count()
            check(live == count - scenes and p.locator(turning[0] + ' .box > svg').first.is_visible() and not [s for s in r.said if 'page error' in s],
                  f'no WebGL: {live} plots live, {scenes} clouds stay drawn {r.said[:2]}')
        browser.close()


if args.shots:
    args.shots.mkdir(parents=True, exist_ok=True)
with sync_playwright() as playwright, tempfile.TemporaryDirectory() as made:
    main(playwright, pathlib.Path(made))
print(f'{args.folder}: ' + (f'{len(fails)} checks FAILED' if fails else 'all checks passed') + f', {time.time() - began:.0f} s')
sys.exit(bool(fails))
