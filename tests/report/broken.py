#!/usr/bin/env python3
"""Breaks a report of deep_dive in several ways, one at a time, and runs the checks: broken.py FOLDER PLOTLY VALUES, where VALUES is the output of
twelve_values. Exit 1 if the checks miss one."""
import pathlib
import subprocess
import sys
import tempfile

folder, plotly = pathlib.Path(sys.argv[1]), sys.argv[2]
page = (folder / 'report.html').read_text(encoding='utf-8')
# name, old text, new text, what the check must say, and which part of which check
WAYS = [
    ('a remote image', '<h1>', '<img src="https://example.org/x.png" alt="x"><h1>', 'no network request', 'looks'),
    ('a blank plot', 'return { data, layout', "data.forEach(d => { d.visible = d.type !== 'heatmap' }); return { data, layout", 'every plot has ink', 'looks'),
    ('a wide box', '<p class="lead">', '<p class="lead" style="width:1600px;max-width:none">', 'no sideways scroll', 'widths'),
    ('unnamed sliders', "range.setAttribute('aria-label'", "range.setAttribute('data-label'", 'axe-core', 'themes'),
    ('a dead Play', 'play.onclick =', 'play.onclick2 =', 'within', 'plays'),
    ('clouds that are not linked', 'if (fig.busy || !camera) return;', 'return;', 'the other clouds follow', 'turns'),
    ('an error in the console', "'use strict';", "'use strict'; console.error('broken');", 'no console error', 'looks'),
    ('a page that plays by itself', 'return show(last);', 'return show(last).then(() => { play.onclick(); });', 'nothing plays by itself', 'calm'),
    ('still drawings that hide', '.plot { visibility: hidden }', '.plot, .box > svg { visibility: hidden }', 'still drawings show', 'still'),
    ('a figure that Plotly does not know', '"dash":"solid"', '"dash":7,"dosh":1', 'Plotly.validate', 'looks'),
    ('light paper in the dark', 'VAR[c] ?', 'false ?', 'within', 'themes'),
    ('plots on paper', '.plot, .player, .notice, .filter, .fig button { display: none !important }', '', 'print: still', 'themes'),
    ('panels that are not linked', 'for (const q of others()) Plotly.Fx.hover', 'for (const q of []) Plotly.Fx.hover', 'panels show', 'hovers'),
    ('folds that stay open', 'fold.open = false;\n  addEventListener', 'fold.open = true;\n  addEventListener', 'folds are closed', 'folds'),
    ('a part that stays empty', "addEventListener('toggle'", "addEventListener('toggled'", 'within', 'folds'),
    ('folds that do not print', 'details::details-content {', 'details::details-contents {', 'are hidden', 'folds'),
    ('a page that is too long', '<p class="lead">', '<p class="lead" style="height: 9000px">', 'px long', 'widths'),
    ('an axis whose curves stay', 'd.x && meta ? {', 'd.x && meta && false ? {', 'an arrow key chooses', 'axes'),
    ('frames on the other axis', 'whole.data[f.traces[k]].meta, at', 'undefined, at', 'an arrow key chooses', 'axes'),
    ('a filter that hides nothing', 'row.hidden = !fits(row)', 'row.hidden = false', 'shown at first', 'filters'),
    ('a figure that leads to all rows', 'row.dataset.figure !== here.figure', 'false', 'leads to its', 'filters'),
    ('a forgotten term of the gradient', '-f.xhat[k] * group.mean_gx];', '0];', 'layer: y and dx', 'twelve numbers'),
    ('a variance over n - 1', 'Math.sqrt(g.power + eps)', 'Math.sqrt(g.power * v.length / (v.length - 1) + eps)', 'batch: y and dx', 'twelve numbers'),
    ('an epsilon outside the root', 'Math.sqrt(g.power + eps)', 'Math.sqrt(g.power) + eps', 'rms: y and dx', 'twelve numbers'),
    ('a gradient without gamma', 'map(k => gamma * dy[k])', 'map(k => dy[k])', 'group: y and dx', 'twelve numbers'),
    ('a calculation with another result', "result(dust(f.y[k], 1))", 'result(dust(f.y[k], 1) + 1)', 'layer, multiples: y', 'twelve texts'),
    ('a prediction that is not asked again', "if (what === 'norm') answered.clear();", '', 'another norm asks again', 'twelve texts'),
    ('a reason that is false without epsilon', "s.eps ? 'ε prevents", "true ? 'ε prevents", 'extremes: (', 'twelve extremes'),
    ('outputs that move although gamma is 0', 'if (!s.gamma) return `None', 'if (false) return `None', 'extremes: (', 'twelve extremes'),
    ('a value that Enter does not choose', "field.addEventListener('click'", "field.addEventListener('mousedown'", 'Enter shows', 'twelve keys'),
    ('labels for nobody', '<label for="twelve-eps">', '<label>', 'has a name', 'twelve looks'),
]
unseen = []
for what, old, new, says, part in WAYS:
    with tempfile.TemporaryDirectory() as made:
        if old not in page:
            unseen.append(what + ' (cannot be made)')
            continue
        pathlib.Path(made, 'report.html').write_text(page.replace(old, new), encoding='utf-8')
        twelve, part = part.startswith('twelve '), part.split()[-1]
        command = ['tests/report/check_twelve.py', made, plotly, sys.argv[3]] if twelve else ['tests/report/check_report.py', made, plotly]
        run = subprocess.run([sys.executable, *command, '--short', '--only', part], capture_output=True, text=True)
        red = [line for line in run.stdout.splitlines() if line.startswith('FAIL')]
        seen = run.returncode == 1 and any(says in line for line in red)
        print(('found   ' if seen else 'MISSED  ') + what + ': ' + '; '.join(line[6:90] for line in red[:3]) + run.stderr[-200:], flush=True)
        if not seen:
            unseen.append(what)
print(f'{len(WAYS) - len(unseen)} of {len(WAYS)} faults detected', unseen or '')
sys.exit(bool(unseen))
