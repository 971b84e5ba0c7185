"""What the checks of a page share: Chromium, a page that records every error, and the list of failed checks."""
import os
import re
import shutil
import sys
import time

CHROMIUM = os.environ.get('CHROMIUM') or shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
FLAGS = ['--no-sandbox', '--enable-unsafe-swiftshader', '--force-color-profile=srgb', '--hide-scrollbars']
NOISE = re.compile(r'GPU stall due to ReadPixels|willReadFrequently')  # software GL only
OVER = '''() => { // panels side by side that a phone scrolls may reach over the edge
  const strip = e => { const row = e.parentElement?.closest('.grid'); return row && getComputedStyle(row).overflowX === 'auto'; };
  return [document.documentElement.scrollWidth - document.documentElement.clientWidth,
  [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('svg, thead, math') && !strip(e)).slice(0, 3)
  .map(e => e.tagName + '.' + e.className)]; }'''
UNNAMED = '''() => [...document.querySelectorAll('[role=img],button,input')].filter(e => !e.closest('[aria-hidden=true]')
  && !(e.ariaLabel || e.textContent.trim() || e.labels?.[0]?.textContent.trim())).map(e => e.outerHTML.slice(0, 80))'''
fails = []


def launch(pw, *extra):
    if not CHROMIUM:
        sys.exit('not run: there is no chromium; apt-get install chromium')
    return pw.chromium.launch(executable_path=CHROMIUM, args=FLAGS + list(extra))


def check(ok, what):
    print(('ok    ' if ok else 'FAIL  ') + what, flush=True)
    if not ok:
        fails.append(what)
    return ok


def until(page, js, limit=30):  # not wait_for_function: that one needs eval, which the page's own policy forbids
    t = time.time()
    while not page.evaluate(js):
        if time.time() - t > limit:
            return check(False, f'within {limit} s: {js}')
        time.sleep(.05)
    return True


class Reader:
    """A page that records every error. shots is a folder for screenshots, or None."""
    shots = None

    def __init__(self, browser, **context):
        self.ctx = browser.new_context(**{'viewport': {'width': 1400, 'height': 900}, **context})
        self.page = self.ctx.new_page()
        self.said, self.asked = [], []
        self.page.on('console', lambda m: m.type in ('error', 'warning') and not NOISE.search(m.text) and self.said.append(m.type + ': ' + m.text))
        self.page.on('pageerror', lambda e: self.said.append('page error: ' + str(e)))
        self.page.on('request', lambda r: not r.url.startswith(('file:', 'data:', 'blob:')) and self.asked.append(r.url))

    def open(self, path, ready="document.documentElement.dataset.ready === 'yes'"):
        self.page.goto(path.as_uri())
        if ready:
            until(self.page, ready, 240)
        return self.page

    def shot(self, name):
        if self.shots:
            self.page.screenshot(path=self.shots / (name + '.png'), full_page=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.ctx.close()


def accessible(p, what, part=None):
    unnamed = p.evaluate(UNNAMED)
    check(not unnamed, f'every image, button and slider has a name {unnamed[:2]}')
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        return print('not run: axe-core, there is no axe-playwright-python')
    found = Axe().run(p, context=part).response['violations']
    check(not found, f'axe-core, {what}: ' + '; '.join(f"{i['id']} x{len(i['nodes'])} {i['nodes'][0]['target']}" for i in found))
