(() => {
  'use strict';
  // The JSON has the colours of the light palette; each is replaced by its colour in the page's theme.
  const VAR = {};
  const sheet = [...document.styleSheets[0].cssRules].find(r => r.selectorText === ':root');
  for (const name of sheet.style) if (name.startsWith('--')) VAR[sheet.style.getPropertyValue(name).trim()] = name;
  const calm = matchMedia('(prefers-reduced-motion: reduce)');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const pause = ms => new Promise(done => setTimeout(done, ms));
  const make = (tag, props) => Object.assign(document.createElement(tag), props);
  const webgl = (() => { const g = document.createElement('canvas').getContext('webgl'); g?.getExtension('WEBGL_lose_context')?.loseContext(); return !!g; })();
  const still = { mode: 'immediate', transition: { duration: 0 } };

  function figure(fig) {                           // the figure's JSON in the colours of the theme
    const css = getComputedStyle(document.documentElement);
    const text = document.getElementById(fig.dataset.json).textContent;
    return JSON.parse(text.replace(/#[0-9a-f]{6}/g, c => VAR[c] ? css.getPropertyValue(VAR[c]).trim() : c));
  }

  // The points of a frame, or of the drawing if k is left out, on the second axis: meta.x2 has all of them.
  const second = (x, { x2, reveal }, k = x2.length - 1) => reveal ? x2.slice(k + 1 - x.length, k + 1) : x2;

  function part(whole, panel, other) {             // the part of it that one panel shows; other: on the second axis of x
    const n = panel > 1 ? panel : '', old = whole.layout;
    const mine = whole.data.flatMap((d, i) => d.xaxis === 'x' + n || d.scene === 'scene' + n ? [i] : []);
    const axis = other && old.meta?.['xaxis' + n], on_x = (d, meta, k) => axis && d.x && meta ? { ...d, x: second(d.x, meta, k) } : d;
    const data = mine.map(i => whole.data[i]).map(d => ({ ...on_x(d, d.meta), ...(d.scene ? { scene: 'scene' } : { xaxis: 'x', yaxis: 'y' }),
      ...('showscale' in d && { showscale: false }) }));
    const scene = old['scene' + n], x = old['xaxis' + n], y = old['yaxis' + n], edge = scene || x.visible === false;
    const layout = { ...Object.fromEntries(['paper_bgcolor', 'plot_bgcolor', 'font', 'hoverlabel', 'uirevision', 'dragmode', 'barmode', 'bargap'].flatMap(k => k in old ? [[k, old[k]]] : [])),
      showlegend: false, hovermode: scene || data[0]?.type !== 'scatter' ? 'closest' : 'x unified', margin: edge ? { l: 0, r: 0, t: 0, b: 0 } : { l: 52, r: 12, t: 8, b: 40 } };
    if (scene) Object.assign(layout, { scene: { ...scene, domain: {} }, plot_bgcolor: undefined });
    else Object.assign(layout, { xaxis: { ...x, ...axis, title: { ...x.title, ...(axis && { text: axis.title }) }, domain: [0, 1], anchor: 'y' },
      yaxis: { ...y, domain: [0, 1], anchor: 'x' } });
    const frames = whole.frames.map((f, at) => {
      const here = f.traces.flatMap((t, k) => mine.includes(t) ? [k] : []);
      return { name: f.name, traces: here.map(k => mine.indexOf(f.traces[k])), data: here.map(k => on_x(f.data[k], whole.data[f.traces[k]].meta, at)) };
    });
    return { data, layout, frames: frames.some(f => f.traces.length) ? frames : [], config: { displayModeBar: false, responsive: true, scrollZoom: false } };
  }

  async function draw(plot, whole) {
    const box = plot.parentNode, fig = part(whole, +plot.dataset.panel, plot.closest('.fig').dataset.axis);
    if (fig.layout.scene && !webgl) return;        // the still drawing stays
    const title = fig.layout.yaxis?.title?.text, drawn = box.querySelector('svg'); // a long title in a low panel gets smaller letters
    const below = drawn.viewBox.baseVal.height - drawn.querySelector('svg')?.height.baseVal.value;
    if (title) fig.layout.yaxis.title.font = { size: Math.max(8, Math.min(14, 1.9 * (plot.clientHeight - below) / title.length)) };
    if (plot.layout?.scene) fig.layout.scene.camera = plot.layout.scene.camera;  // uirevision keeps only what a mouse did
    else if (fig.layout.scene) for (const k of 'xyz') fig.layout.scene.camera.eye[k] *= Math.max(1, 430 / plot.clientWidth);  // room for titles
    plot.setAttribute('role', 'img');
    plot.setAttribute('aria-label', box.querySelector('svg title').textContent + ': ' + box.querySelector('svg desc').textContent);
    await Plotly.react(plot, fig);
    plot.moves = fig.frames.length > 0;
    plot.redraw = fig.data.some(d => d.type !== 'scatter');
    box.classList.add('live');
    box.querySelector('svg').setAttribute('aria-hidden', 'true');
  }

  function player(fig, names) {
    const last = names.length - 1, unit = fig.dataset.unit, number = s => isNaN(s) ? s : (+s).toLocaleString('en', { maximumSignificantDigits: 6 });
    const bar = make('div', { className: 'player' });
    const play = make('button', { type: 'button' });
    const range = make('input', { type: 'range', min: 0, max: last, value: last });
    const out = make('output', {});
    let running = false;
    range.setAttribute('aria-label', unit + ' of ' + fig.querySelector('h2').textContent);
    const label = () => { play.textContent = running ? '❚❚ Pause' : '▶ Play'; play.setAttribute('aria-pressed', running); };
    async function show(i) {
      range.value = i;
      out.value = unit + ' ' + number(names[i]) + ' of ' + number(names[last]);
      range.setAttribute('aria-valuetext', out.value);
      const frame = p => Plotly.animate(p, [names[i]], { ...still, frame: { duration: 0, redraw: p.redraw } }).catch(() => 0);
      await Promise.all(fig.live.filter(p => p.moves).map(frame));
      fig.dataset.frame = names[i];
    }
    play.onclick = async () => {
      running = !running; label();
      if (running && +range.value === last) await show(0);
      while (running && +range.value < last) {
        await pause(calm.matches ? 900 : 140);
        if (running) await show(+range.value + 1);
      }
      running = false; label();
    };
    range.oninput = () => { running = false; label(); show(+range.value); };
    bar.append(play, range, out);
    fig.redo = () => show(+range.value);
    label();
    fig.querySelector('.controls').prepend(bar);
    return show(last);
  }

  function follow(fig, p) {                        // clouds turn together, by mouse and by buttons
    p.addEventListener('wheel', e => e.stopPropagation(), { capture: true, passive: true });  // otherwise the wheel would not scroll the page
    p.on('plotly_relayout', async e => {
      const camera = e['scene.camera'];            // p._fullLayout is stale after the window was resized
      if (fig.busy || !camera) return;
      fig.busy = true;
      await Promise.all(fig.live.filter(q => q !== p && q.layout.scene).map(q => Plotly.relayout(q, { 'scene.camera': camera })));
      fig.busy = false;
    });
  }
  function turning(fig) {
    const turn = a => { const cloud = fig.live.find(p => p.layout.scene), cam = cloud.layout.scene.camera, { x, y, z } = cam.eye;
      const c = Math.cos(a), s = Math.sin(a);
      Plotly.relayout(cloud, { 'scene.camera': { ...cam, eye: { x: x * c - y * s, y: x * s + y * c, z } } }); };
    const bar = make('div', { className: 'turn' });
    for (const [text, name, a] of [['↺', 'Turn left', -.26], ['↻', 'Turn right', .26]]) {
      const b = make('button', { type: 'button', textContent: text, title: name, onclick: () => turn(a) });
      b.setAttribute('aria-label', name + ': ' + fig.querySelector('h2').textContent); bar.append(b, ' ');
    }
    fig.querySelector('.controls').prepend(bar);
  }

  function hovering(fig, p) {                      // the value of x under the mouse is shown in all panels with this axis
    const axis = q => JSON.stringify([q.layout.xaxis?.title?.text, q.layout.xaxis?.type, q.layout.xaxis?.ticktext]);
    const others = () => fig.live.filter(q => q !== p && q.layout.hovermode === 'x unified' && axis(q) === axis(p));
    p.on('plotly_hover', e => { for (const q of others()) Plotly.Fx.hover(q, { xval: e.xvals[0], yval: q.layout.yaxis.range?.[0] ?? 0 }, 'xy'); });
    p.on('plotly_unhover', () => { for (const q of others()) Plotly.Fx.unhover(q); });
  }

  function axes(fig, { meta, ...layout }) {        // two radio buttons choose the axis of x, such as steps or seconds
    const [key, other] = Object.entries(meta)[0], bar = make('fieldset', { className: 'axis' });
    bar.append(make('legend', { textContent: 'x axis' }));
    for (const [value, text] of [['', layout[key].title.text], ['x2', other.title]]) {
      const choose = () => { fig.dataset.axis = value; soon(fig, true); };
      const button = make('input', { type: 'radio', name: 'axis-' + fig.id, value, checked: !value, onchange: choose });
      const label = make('label', {});
      label.append(button, ' ' + text), bar.append(label);
    }
    fig.querySelector('.controls').append(bar);
  }

  // Draw the plots of a figure: the new ones, or all of them again. Those of a closed part are drawn when the reader opens it.
  async function show(fig, again) {
    const whole = figure(fig), old = [...fig.live];
    for (const plot of fig.querySelectorAll('.plot')) {
      if (old.includes(plot) ? !again : plot.closest('details:not([open])')) continue;
      await draw(plot, whole), await pause(0);
      if (old.includes(plot) || !plot.parentNode.classList.contains('live')) continue;
      fig.live.push(plot);
      if (plot.layout.scene) follow(fig, plot);
      if (plot.layout.hovermode === 'x unified') hovering(fig, plot);
    }
    const has = what => fig.querySelector('.controls ' + what);
    if (!has('.turn') && fig.live.some(p => p.layout.scene)) turning(fig);
    if (!has('.axis') && whole.layout.meta) axes(fig, whole.layout);
    if (!has('.player') && fig.live.some(p => p.moves)) await player(fig, whole.frames.map(f => f.name));
    else if (fig.live.length > old.length || again) await fig.redo?.();
  }
  const soon = (fig, again) => fig.last = (fig.last ?? Promise.resolve()).then(() => show(fig, again));  // one after the other

  const figs = [...document.querySelectorAll('.fig[data-json]')];
  async function all(first) {
    for (const fig of figs) {
      fig.live = fig.live ?? [];
      await soon(fig, !first);
      if (first) for (const fold of fig.querySelectorAll('details.part')) fold.addEventListener('toggle', () => { if (fold.open) soon(fig, false); });
    }
    document.documentElement.dataset.ready = 'yes';
  }

  const give_up = () => { document.getElementById('notice').hidden = false; };
  const begin = () => all(true).catch(e => { give_up(); throw e; });
  if (window.Plotly) begin();
  else if (document.body.dataset.plotly) document.head.append(make('script', { onload: begin, onerror: give_up, crossOrigin: 'anonymous',
    integrity: document.body.dataset.sri, src: document.body.dataset.plotly }));
  else give_up();
  dark.addEventListener('change', () => { if (document.documentElement.dataset.ready) all(false); });
})();
