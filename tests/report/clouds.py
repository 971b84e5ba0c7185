"""For check_report.py: figures with clouds of points, which readers turn."""
from reader import check

EYE = '''id => { const e = document.getElementById(id)._fullLayout.scene._scene.getCamera().eye; return [e.x, e.y, e.z].map(v => +v.toFixed(4)) }'''


def eye(p, cloud):
    """Where the camera is when it has come to rest, which takes a while on a busy machine."""
    at = p.evaluate(EYE, cloud)
    for _ in range(20):
        p.wait_for_timeout(500)
        before, at = at, p.evaluate(EYE, cloud)
        if before == at:
            break
    return at


def turns(p, fig):
    """Clouds turn by mouse, also after a resize (where Plotly loses its state), and all together; the camera survives a change of frame;
    the wheel scrolls the page."""
    ids = [i for i in p.evaluate(f"[...document.querySelectorAll('{fig} .live > .plot')].filter(p => p.layout.scene).map(p => p.id)")]
    a, other = ids[0], ids[-1]
    p.set_viewport_size({'width': 1400, 'height': 950})
    p.wait_for_timeout(600)
    p.locator('#' + a).evaluate("e => e.scrollIntoView({ block: 'center' })")
    p.wait_for_timeout(300)
    e0, pic, box = p.evaluate(EYE, a), p.locator('#' + a).screenshot(), p.locator('#' + a).bounding_box()
    x, y = box['x'] + box['width'] / 2, box['y'] + box['height'] / 2
    p.mouse.move(x, y)
    p.mouse.down()
    p.mouse.move(x + 60, y + 15, steps=6)
    p.mouse.move(x + 110, y + 25, steps=6)
    p.mouse.up()
    p.wait_for_timeout(800)
    e1 = eye(p, a)
    check(e1 != e0 and p.locator('#' + a).screenshot() != pic, f'{fig}: a drag turns the cloud {e0} -> {e1}')
    check(p.evaluate(EYE, other) == e1, f'{fig}: the other clouds follow')
    if p.locator(fig + ' input').count():
        p.locator(fig + ' input').focus()
        p.keyboard.press('Home')
        p.wait_for_timeout(800)
        p.keyboard.press('End')
        p.wait_for_timeout(800)
        at = eye(p, a)
        check(at == e1, f'{fig}: the camera stays when the frame changes {at}')
    p.locator(fig).get_by_role('button', name='Turn left').focus()
    p.keyboard.press('Space')
    p.wait_for_timeout(800)
    check(p.evaluate(EYE, a) != e1 and p.evaluate(EYE, other) == p.evaluate(EYE, a), f'{fig}: Turn left by keyboard')
    p.locator('#' + a).evaluate("e => e.scrollIntoView({ block: 'center' })")
    top = p.evaluate('scrollY')
    p.mouse.move(x, y)
    p.mouse.wheel(0, 200)
    p.wait_for_timeout(400)
    check(p.evaluate('scrollY') > top, f'{fig}: the wheel scrolls the page, not the cloud')
    return a
