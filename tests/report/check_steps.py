#!/usr/bin/env python3
"""Opens the page of examples/backward_steps in Chromium: check_steps.py PAGE. The slider, its keys and the buttons choose a step; nothing is wider than a phone."""
import os
import pathlib
import shutil
import sys

from playwright.sync_api import sync_playwright

fails = []


def check(ok, what):
    print(('ok    ' if ok else 'FAIL  ') + what, flush=True)
    if not ok:
        fails.append(what)


def opened(browser, width, scripts=True):
    page = browser.new_context(viewport={'width': width, 'height': 900}, java_script_enabled=scripts).new_page()
    page.on('console', lambda m: check(False, 'no message in the console: ' + m.text))
    page.on('pageerror', lambda e: check(False, 'no error of the page: ' + str(e)))
    page.goto(pathlib.Path(sys.argv[1]).resolve().as_uri())
    return page


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=os.environ.get('CHROMIUM') or shutil.which('chromium'), args=['--no-sandbox'])
    page = opened(browser, 1400)
    graph = page.query_selector('section')
    steps, slider, output = graph.query_selector_all('.step'), graph.query_selector('input'), graph.query_selector('output')
    back, forward = graph.query_selector_all('button')

    def shown():
        return [i + 1 for i, step in enumerate(steps) if step.is_visible()]

    check(shown() == [1] and back.is_disabled() and output.inner_text() == f'step 1 of {len(steps)}', 'the first step alone is shown')
    forward.click()
    check(shown() == [2] and not back.is_disabled(), 'Next shows the second')
    slider.focus()
    page.keyboard.press('ArrowRight')
    check(shown() == [3] and slider.get_attribute('aria-valuetext').startswith('step 3 of'), 'a key of the slider shows the third, and says so')
    page.keyboard.press('End')
    check(shown() == [len(steps)] and forward.is_disabled(), 'the last one has no next')
    back.click()
    check(shown() == [len(steps) - 1], 'Back goes back')
    phone = opened(browser, 390)
    check(phone.evaluate('document.documentElement.scrollWidth') == 390, 'a phone need not scroll sideways')
    last = phone.query_selector_all('section')[-1]
    last.query_selector_all('button')[1].click()
    sees = '''() => { const [d, a] = ['.drawing', '.active'].map(x => document.querySelector('section:last-of-type .now ' + x).getBoundingClientRect());
      return a.left >= d.left - 1 && a.right <= d.right + 1; }'''
    check(phone.evaluate(sees), 'a phone shows the node that is visited')
    still = opened(browser, 1400, scripts=False)
    check(all(step.is_visible() for step in still.query_selector('section').query_selector_all('.step')), 'without scripts every step is shown')
    browser.close()
print(f'{len(fails)} failed')
sys.exit(bool(fails))
