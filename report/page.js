// The script of the report. It makes no number of its own: frames, one a place
// of the slider, come from lorica; the script shows the one that is chosen,
// sorts and filters the examples, and redraws the noise that the model saw.
(() => {
'use strict';
const $ = id => document.getElementById(id);
const all = (sel, root = document) => [...root.querySelectorAll(sel)];
const el = (tag, props = {}, ...kids) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...kids);
  return e;
};
const data = JSON.parse($('data').textContent);
document.documentElement.classList.add('js');

// ---- light and dark
const dark = () => {
  const set = document.documentElement.dataset.theme;
  return set ? set === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};
$('theme').onclick = () => { document.documentElement.dataset.theme = dark() ? 'light' : 'dark'; };

// ---- the radius
let at = data.start;
const fields = { g: f => f.g.v, gr: f => f.g.r, a: f => f.a.v, ar: f => f.a.r, c: f => f.c.v, cr: f => f.c.r, s: f => f.s, t: f => f.t };
const pct = s => parseFloat(s) / 100;
const cursors = all('.curve').map(fig => {
  const svg = fig.querySelector('svg'), d = fig.dataset;
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
  line.setAttribute('class', 'cursor');
  line.setAttribute('y1', d.top || 24);
  line.setAttribute('y2', d.h - 40);
  svg.append(line);
  svg.addEventListener('pointerdown', e => {
    const box = svg.getBoundingClientRect();
    const x = (e.clientX - box.left) / box.width * d.w;
    move(nearest((x - d.left) / (d.right - d.left) * d.xmax));
  });
  return { line, x: eps => +d.left + (d.right - d.left) * eps / d.xmax };
});
const nearest = v => data.eps.reduce((best, e, i) => Math.abs(e - v) < Math.abs(data.eps[best] - v) ? i : best, 0);

function heatCell(td, permille) {
  td.style.setProperty('--v', permille < 0 ? 0 : permille / 1000);
  td.textContent = permille < 0 ? '' : Math.ceil(permille / 10);
  td.classList.toggle('hot', permille > 910);
}

function move(i) {
  at = Math.max(0, Math.min(data.eps.length - 1, i));
  const text = data.epsText[at];
  $('eps').value = at;
  $('eps').setAttribute('aria-valuetext', 'radius ' + text);
  $('epsout').textContent = text;
  $('lead').textContent = data.lead[at];
  if (data.size) $('size').textContent = data.size[at];
  for (const e of all('[data-f=e]')) e.textContent = text;
  data.runs.forEach((run, r) => {
    const f = run.frames[at];
    for (const box of all(`[data-run="${r}"]`)) {
      for (const [k, get] of Object.entries(fields)) for (const e of all(`[data-f=${k}]`, box)) e.textContent = get(f);
      for (const m of all('.meter', box)) {
        const [lo, hi] = f.g.r.split(' to ');
        m.style.setProperty('--v', pct(f.g.v) || 0);
        m.style.setProperty('--lo', pct(lo) || 0);
        m.style.setProperty('--hi', pct(hi) || 0);
      }
      for (const td of all('[data-c]', box)) heatCell(td, f.h[td.dataset.c - 1]);
      for (const ol of all('[data-f=o]', box)) {
        const lines = f.o.length ? f.o : ['No costly mistake is left open.'];
        ol.replaceChildren(...lines.map(t => el('li', { textContent: t })));
      }
    }
  });
  if (data.changes) for (const td of all('[data-x]')) td.textContent = data.changes[at][td.dataset.x];
  for (const c of cursors) { c.line.setAttribute('x1', c.x(data.eps[at])); c.line.setAttribute('x2', c.x(data.eps[at])); }
  table();
}
$('eps').addEventListener('input', e => move(+e.target.value));

// ---- the examples
const R = { index: 0, label: 1, top: 2, std: 3, group: 4, worst: 5, cost: 6, place: 7, pTop: 8, n: 9, counts: 10, pairs: 11, left: 12, pStd: 13, openGroup: 14, openStd: 15, flags: 16 };
const perPage = 50;
const view = { run: 0, page: 0, sort: null, down: false, rows: [] };
const name = (k, run = data.runs[view.run]) => run.names ? run.names[k] : 'class ' + k;
const radius = v => v < 0 ? '' : (v / 10000).toFixed(4).slice(0, -1); // cut, not rounded
const atLeast = v => (Math.floor(v / 100) / 1e4).toFixed(4), atMost = v => (Math.ceil(v / 100) / 1e4).toFixed(4);
const byIndex = data.runs.map(run => new Map(run.rows.map(r => [r[R.index], r])));
const wrong = r => r[R.top] !== r[R.label];
const sensitive = r => r[R.group] >= 0;
const inOmega = r => (r[R.flags] & 1) > 0;
const safe = r => at < r[R.openGroup];
// The rule of Run.status in examples.go.
function status(r) {
  if (!sensitive(r)) return wrong(r) ? 'misread' : at < r[R.openStd] ? 'prediction proved' : 'not proved';
  if (safe(r)) return 'proved safe';
  return inOmega(r) ? 'costly mistake' : wrong(r) ? 'misread' : 'open';
}
const looks = { 'proved safe': 'safe', 'prediction proved': 'safe', 'costly mistake': 'bad', misread: 'bad', open: 'open' };
const abstained = r => (r[R.flags] & 2) > 0;
const changed = r => {
  const seen = byIndex.map(m => m.get(r[R.index])).filter(Boolean);
  return sensitive(r) && seen.some(o => safe(o) !== safe(r));
};
const keep = {
  '': () => true, sensitive, 'proved safe': r => sensitive(r) && safe(r), 'not safe': r => sensitive(r) && !safe(r),
  'costly mistake': r => sensitive(r) && wrong(r) && inOmega(r), misread: wrong, abstained, changed,
};
const sortKey = {
  index: r => r[R.index], label: r => name(r[R.label]), top: r => name(r[R.top]), status, group: r => r[R.group], std: r => r[R.std],
  worst: r => r[R.worst] < 0 ? '' : name(r[R.worst]), cost: r => r[R.cost],
};

function table() {
  const rows = data.runs[view.run].rows;
  const want = keep[$('f-status').value], label = $('f-label').value, text = $('f-text').value.trim().toLowerCase();
  view.rows = rows.filter(r => want(r) && (label === '' || r[R.label] === +label) && (text === '' ||
    String(r[R.index]) === text || [R.label, R.top, R.worst].some(k => r[k] >= 0 && name(r[k]).toLowerCase().includes(text)) || status(r).includes(text)));
  if (view.sort) {
    const key = sortKey[view.sort], sign = view.down ? -1 : 1;
    const keyed = view.rows.map(r => [key(r), r]);
    keyed.sort(([a], [b]) => sign * (typeof a === 'string' ? a.localeCompare(b, 'en', { numeric: true }) : a - b));
    view.rows = keyed.map(k => k[1]);
  }
  const pages = Math.max(1, Math.ceil(view.rows.length / perPage));
  view.page = Math.min(view.page, pages - 1);
  $('rows').replaceChildren(...view.rows.slice(view.page * perPage, (view.page + 1) * perPage).map(line));
  $('count').textContent = `${view.rows.length} of ${rows.length} examples` + (view.sort ? '' : ', the costliest open ones first') + '. Choose one to see the noise and the bounds.';
  $('page').textContent = `page ${view.page + 1} of ${pages}`;
  $('prev').disabled = view.page === 0;
  $('next').disabled = view.page >= pages - 1;
}

function thumb(run, r) {
  const s = data.sprites[run.sprite];
  if (!s || r[R.place] < 0) return null;
  const scale = 48 / s.cell, p = r[R.place];
  const t = el('span', { className: 'thumb sp' + run.sprite });
  t.style.backgroundPosition = `-${p % s.columns * s.cell * scale}px -${Math.floor(p / s.columns) * s.cellh * scale}px`;
  return t;
}

function line(r, i) {
  const run = data.runs[view.run], st = status(r), pic = thumb(run, r);
  const show = el('button', { type: 'button', className: pic ? '' : 'plain' }, pic || 'Show');
  show.setAttribute('aria-label', `Show example ${r[R.index]}, ${name(r[R.label])}`);
  const cell = (text, cls = '') => el('td', { textContent: text, className: cls });
  const tr = el('tr', {}, el('td', { className: 'pic' }, show), cell(r[R.index], 'num'), cell(name(r[R.label])),
    cell(name(r[R.top]), wrong(r) ? 'wrong' : ''), el('td', {}, el('span', { className: 'status ' + (looks[st] || ''), textContent: st })),
    cell(radius(r[R.group]), 'num'), cell(radius(r[R.std]), 'num'), cell(r[R.worst] < 0 ? '' : name(r[R.worst])), cell(r[R.worst] < 0 ? '' : r[R.cost], 'num'));
  tr.onclick = () => open(view.page * perPage + i);
  return tr;
}

for (const th of all('#table th[data-k]')) {
  const b = el('button', { type: 'button' }, ...th.childNodes);
  th.replaceChildren(b);
  b.onclick = () => {
    view.down = view.sort === th.dataset.k && !view.down;
    view.sort = th.dataset.k;
    view.page = 0;
    for (const o of all('#table th')) o.removeAttribute('aria-sort');
    th.setAttribute('aria-sort', view.down ? 'descending' : 'ascending');
    table();
  };
}
$('filters').onsubmit = e => e.preventDefault();
$('filters').oninput = () => {
  const run = $('f-run') ? +$('f-run').value : 0;
  if (run !== view.run) { view.run = run; labels(); }
  view.page = 0;
  table();
};
$('prev').onclick = () => { view.page--; table(); };
$('next').onclick = () => { view.page++; table(); };
function labels() {
  const old = $('f-label').value;
  const seen = [...new Set(data.runs[view.run].rows.map(r => r[R.label]))].sort((a, b) => a - b);
  $('f-label').replaceChildren(el('option', { value: '', textContent: 'any' }), ...seen.map(k => el('option', { value: k, textContent: name(k) })));
  if (seen.includes(+old) && old !== '') $('f-label').value = old;
}

// ---- one example: the noise the model saw, and the bounds
// Philox4x32-10 and Box-Muller as in lorica's package draw.
function mul(a, b) { // the two halves of a 64-bit product
  const al = a & 0xffff, ah = a >>> 16, bl = b & 0xffff, bh = b >>> 16;
  const mid = ah * bl + ((al * bl) >>> 16), cross = al * bh + (mid & 0xffff);
  return [(ah * bh + Math.floor(mid / 65536) + Math.floor(cross / 65536)) >>> 0, Math.imul(a, b) >>> 0];
}
function philox(c0, c1, c2, c3, k0, k1) {
  for (let i = 0; i < 10; i++) {
    const [h0, l0] = mul(0xD2511F53, c0), [h1, l1] = mul(0xCD9E8D57, c2);
    [c0, c1, c2, c3] = [(h1 ^ c1 ^ k0) >>> 0, l1, (h0 ^ c3 ^ k1) >>> 0, l0];
    k0 = (k0 + 0x9E3779B9) >>> 0;
    k1 = (k1 + 0xBB67AE85) >>> 0;
  }
  return [c0, c1, c2, c3];
}
const estimate = 1; // draw.Estimate
function noise(count, seed, example, index) {
  const z = new Float32Array(count);
  for (let i = 0; i < count; i += 4) {
    const w = philox(i / 4, index, example, estimate, seed[0], seed[1]);
    for (let j = 0; j < 4; j += 2) {
      const r = Math.sqrt(-2 * Math.log((w[j] + 0.5) / 4294967296)), t = 2 * Math.PI * (w[j + 1] >>> 8) / 16777216;
      if (i + j < count) z[i + j] = r * Math.cos(t);
      if (i + j + 1 < count) z[i + j + 1] = r * Math.sin(t);
    }
  }
  return z;
}
const images = new Map();
function spriteImage(k) {
  if (!images.has(k)) {
    const img = new Image();
    for (const sheet of document.styleSheets) for (const rule of sheet.cssRules) {
      if (rule.selectorText === '.sp' + k) img.src = rule.style.backgroundImage.slice(4, -1).replace(/^"|"$/g, '');
    }
    images.set(k, img.decode().then(() => img));
  }
  return images.get(k);
}
// picture draws a thumbnail, with the noise of one draw where index >= 0.
function picture(img, s, run, r, index) {
  const c = el('canvas', { width: s.cell, height: s.cellh }), g = c.getContext('2d');
  const p = r[R.place];
  g.drawImage(img, p % s.columns * s.cell, Math.floor(p / s.columns) * s.cellh, s.cell, s.cellh, 0, 0, s.cell, s.cellh);
  if (index < 0) return c;
  const pix = g.getImageData(0, 0, s.cell, s.cellh), z = noise(s.channels * s.height * s.width, run.seed, r[R.index], index);
  for (let ch = 0; ch < 3; ch++) for (let y = 0; y < s.cellh; y++) for (let x = 0; x < s.cell; x++) {
    let sum = 0;
    for (let dy = 0; dy < s.shrink; dy++) for (let dx = 0; dx < s.shrink; dx++)
      sum += z[(Math.min(ch, s.channels - 1) * s.height + y * s.shrink + dy) * s.width + x * s.shrink + dx];
    pix.data[(y * s.cell + x) * 4 + ch] += 255 * run.sigma * sum / (s.shrink * s.shrink); // clamps by itself
  }
  g.putImageData(pix, 0, 0);
  return c;
}

let shown = -1;
function open(i) {
  if (i < 0 || i >= view.rows.length) return;
  shown = i;
  const r = view.rows[i];
  $('d-title').textContent = `Example ${r[R.index]}: ${name(r[R.label])}`;
  $('d-body').replaceChildren(...data.runs.map((run, k) => [run, byIndex[k].get(r[R.index]), k])
    .filter(([, row], k) => row && row[R.label] === r[R.label] && data.runs[k].sprite === data.runs[view.run].sprite).map(([run, row]) => about(run, row)));
  $('d-prev').disabled = i === 0;
  $('d-next').disabled = i === view.rows.length - 1;
  if (!$('detail').open) $('detail').showModal();
  $('detail').scrollTop = 0;
}
$('d-prev').onclick = () => open(shown - 1);
$('d-next').onclick = () => open(shown + 1);
$('d-close').onclick = () => $('detail').close();
$('detail').addEventListener('keydown', e => { if (e.key === 'ArrowLeft') open(shown - 1); if (e.key === 'ArrowRight') open(shown + 1); });
$('detail').addEventListener('click', e => { if (e.target === $('detail')) $('detail').close(); });

function about(run, r) {
  const box = el('div', { className: `run s${run.colour}` }, el('h3', { textContent: run.name }));
  const s = data.sprites[run.sprite];
  if (s && r[R.place] >= 0) {
    const strip = el('div', { className: 'strip' });
    box.append(strip, el('p', { className: 'note', textContent: run.noiseNote + (s.exact ? '' : s.shrink > 1 ? ' The picture is shrunk, which hides much of the noise.' : ' The picture under it is compressed.') }));
    spriteImage(run.sprite).then(img => {
      for (let d = -1; d < 6; d++) strip.append(el('figure', {}, picture(img, s, run, r, d), el('figcaption', { textContent: d < 0 ? 'input' : 'draw ' + (d + 1) })));
    });
  }
  box.append(claims(run, r), bounds(run, r));
  return box;
}

function claims(run, r) {
  const ul = el('ul'), say = t => ul.append(el('li', { textContent: t }));
  const top = name(r[R.top], run), st = status(r);
  say(r[R.std] > 0 ? `Prediction: within ${radius(r[R.std])} the answer is always ${top}.` + (wrong(r) ? ' That is not its label.' : '')
    : `Prediction: no claim. The draws were most often ${top}, but not for a proved majority.`);
  if (sensitive(r)) {
    say(r[R.group] > 0 ? `Group: within ${radius(r[R.group])} the answer is never one that costs something.` +
      (r[R.pTop] < 500000 ? ` It need not be ${top}: less than half of the draws are proved to be.` : '')
      : `Group: no claim. A costly answer is not ruled out at any radius, however small.`);
  }
  say(`At radius ${data.epsText[at]}: ${st}.`);
  return ul;
}

function bounds(run, r) {
  const rows = new Map();
  for (let i = 0; i < r[R.counts].length; i += 2) rows.set(r[R.counts][i], { count: r[R.counts][i + 1] });
  for (let i = 0; i < r[R.pairs].length; i += 4) {
    const k = r[R.pairs][i], o = rows.get(k) || { count: r[R.counts].length < 24 ? 0 : '' };
    rows.set(k, Object.assign(o, { radius: r[R.pairs][i + 1], upper: r[R.pairs][i + 2], cost: r[R.pairs][i + 3] }));
  }
  const head = ['Answer', '', `Of ${r[R.n]} draws`, 'Probability', 'Cost', 'Ruled out within'];
  const body = [...rows].map(([k, o]) => {
    const bar = el('i');
    bar.style.width = 100 * (o.count || 0) / r[R.n] + '%';
    const limit = k === r[R.top] ? 'at least ' + atLeast(r[R.pTop] || r[R.pStd]) : o.upper !== undefined ? 'at most ' + atMost(o.upper) : '';
    return el('tr', {}, el('td', { textContent: name(k, run) + (k === r[R.label] ? ' (label)' : '') }), el('td', { className: 'barcell' }, bar), el('td', { textContent: o.count }),
      el('td', { textContent: limit }), el('td', { textContent: o.cost ?? '' }), el('td', { textContent: o.radius === undefined ? '' : o.radius > 0 ? radius(o.radius) : 'not ruled out' }));
  });
  const t = el('table', { className: 'bounds' }, el('thead', {}, el('tr', {}, ...head.map((h, i) => el('th', { textContent: h, className: i === 1 ? 'barcell' : '' })))), el('tbody', {}, ...body));
  const box = el('div', { className: 'scroll' }, t);
  if (r[R.left]) box.append(el('p', { className: 'note', textContent: `${r[R.left]} more costly answers are ruled out at least as far.` }));
  return box;
}

window.lorica = { noise, move };
labels();
move(at);
})();
