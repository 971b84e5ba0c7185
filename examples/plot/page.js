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

  function part(whole, panel) {                    // the part of it that one panel shows
    const n = panel > 1 ? panel : '', old = whole.layout;
    const mine = whole.data.flatMap((d, i) => d.xaxis === 'x' + n || d.scene === 'scene' + n ? [i] : []);
    const data = mine.map(i => ({ ...whole.data[i], ...(whole.data[i].scene ? { scene: 'scene' } : { xaxis: 'x', yaxis: 'y' }), ...('showscale' in whole.data[i] && { showscale: false }) }));
    const scene = old['scene' + n], x = old['xaxis' + n], y = old['yaxis' + n], edge = scene || x.visible === false;
    const layout = { ...Object.fromEntries(['paper_bgcolor', 'plot_bgcolor', 'font', 'hoverlabel', 'uirevision', 'dragmode', 'barmode', 'bargap'].flatMap(k => k in old ? [[k, old[k]]] : [])),
      showlegend: false, hovermode: scene || data[0]?.type !== 'scatter' ? 'closest' : 'x unified', margin: edge ? { l: 0, r: 0, t: 0, b: 0 } : { l: 52, r: 12, t: 8, b: 40 } };
    if (scene) Object.assign(layout, { scene: { ...scene, domain: {} }, plot_bgcolor: undefined });
    else Object.assign(layout, { xaxis: { ...x, domain: [0, 1], anchor: 'y' }, yaxis: { ...y, domain: [0, 1], anchor: 'x' } });
    const frames = whole.frames.map(f => {
      const here = f.traces.flatMap((t, k) => mine.includes(t) ? [k] : []);
      return { name: f.name, traces: here.map(k => mine.indexOf(f.traces[k])), data: here.map(k => f.data[k]) };
    });
    return { data, layout, frames: frames.some(f => f.traces.length) ? frames : [], config: { displayModeBar: false, responsive: true, scrollZoom: false } };
  }

  async function draw(plot, whole) {
    const box = plot.parentNode, fig = part(whole, +plot.dataset.panel);
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

  function player(fig, plots, names) {
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
      await Promise.all(plots.map(p => Plotly.animate(p, [names[i]], { ...still, frame: { duration: 0, redraw: p.redraw } }).catch(() => 0)));
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

  function turning(fig, plots) {                   // clouds turn together, by mouse and by buttons
    let busy = false;
    for (const p of plots) {
      p.addEventListener('wheel', e => e.stopPropagation(), { capture: true, passive: true });  // otherwise the wheel would not scroll the page
      p.on('plotly_relayout', async e => {
        const camera = e['scene.camera'];          // p._fullLayout is stale after the window was resized
        if (busy || !camera) return;
        busy = true;
        await Promise.all(plots.filter(q => q !== p).map(q => Plotly.relayout(q, { 'scene.camera': camera })));
        busy = false;
      });
    }
    const turn = a => { const cam = plots[0].layout.scene.camera, { x, y, z } = cam.eye, c = Math.cos(a), s = Math.sin(a);
      Plotly.relayout(plots[0], { 'scene.camera': { ...cam, eye: { x: x * c - y * s, y: x * s + y * c, z } } }); };
    const bar = make('div', {});
    for (const [text, name, a] of [['↺', 'Turn left', -.26], ['↻', 'Turn right', .26]]) {
      const b = make('button', { type: 'button', textContent: text, title: name, onclick: () => turn(a) });
      b.setAttribute('aria-label', name + ': ' + fig.querySelector('h2').textContent); bar.append(b, ' ');
    }
    fig.querySelector('.controls').prepend(bar);
  }

  function hovering(plots) {                       // the value of x under the mouse is shown in all panels with this axis
    const axis = p => JSON.stringify([p.layout.xaxis.title?.text, p.layout.xaxis.type, p.layout.xaxis.ticktext]);
    for (const p of plots) {
      const others = plots.filter(q => q !== p && axis(q) === axis(p));
      p.on('plotly_hover', e => { for (const q of others) Plotly.Fx.hover(q, { xval: e.xvals[0], yval: q.layout.yaxis.range?.[0] ?? 0 }, 'xy'); });
      p.on('plotly_unhover', () => { for (const q of others) Plotly.Fx.unhover(q); });
    }
  }

  async function all(first) {
    for (const fig of document.querySelectorAll('.fig[data-json]')) {
      const whole = figure(fig);
      for (const plot of fig.querySelectorAll('.plot')) { await draw(plot, whole); await pause(0); }
      const plots = [...fig.querySelectorAll('.live > .plot')], moving = plots.filter(p => p.moves), clouds = plots.filter(p => p.layout.scene);
      if (!first) { await fig.redo?.(); continue; }
      if (clouds.length) turning(fig, clouds);
      hovering(plots.filter(p => p.layout.hovermode === 'x unified'));
      if (moving.length) await player(fig, moving, whole.frames.map(f => f.name));
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
