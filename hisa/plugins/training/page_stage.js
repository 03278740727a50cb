// The stage: frames with pages of MiniWoB++, all asked in one wave. An order is {slot} with `url`
// (show this page, where it is not) and `seed` (begin an episode), or `x`, `y` and perhaps `text` (act
// by events).
const frames = [];
const TAGS = {
  a: 'link', button: 'push button', textarea: 'text', select: 'combo box', option: 'list item',
  label: 'label', li: 'list item', td: 'table cell', th: 'table cell', img: 'image', canvas: 'image',
  h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading', p: 'paragraph',
};
const INPUTS = {
  button: 'push button', submit: 'push button', reset: 'push button', image: 'push button',
  checkbox: 'check box', radio: 'radio button', password: 'password text', range: 'slider',
};
const ARIA = { tab: 'page tab', menuitem: 'menu item', button: 'push button', slider: 'slider' };
const CONTROLS = 'a[href],button,input,select,textarea,[tabindex],[contenteditable]';
const TYPED = ['entry', 'password text', 'text'];
const OUTSIDE = '#query, #reward-display, #click-canvas, #sync-task-cover, script, style';
const MAX_ITEMS = 40, MAX_NAME = 80, LOAD_SECONDS = 20;
const LEFT = { instruction: '', items: [], done: true, raw: 0 }; // what a page gives that was left
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function item(node, w) {
  const tag = node.localName, own = [...node.childNodes].filter((c) => c.nodeType === 3)
    .map((c) => c.nodeValue).join(' ').replace(/\s+/g, ' ').trim();
  const control = tag === 'input' || tag === 'textarea' || tag === 'select';
  const known = tag in TAGS && tag !== 'p' && tag !== 'li' && tag !== 'td';
  if (!own && !control && !known && node.children.length) return null;
  if (tag === 'label' && node.control) return null; // it is its control's name
  const box = [...node.getClientRects()].find((r) => r.width > 0 && r.height > 0);
  if (!box) return null;
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  if (x < 0 || y < 0 || x >= 160 || y >= 210 || w.getComputedStyle(node).visibility !== 'visible')
    return null;
  const role = ARIA[node.getAttribute('role')] || (tag === 'input' ? INPUTS[node.type] || 'entry' : TAGS[tag])
    || (node.ownerSVGElement ? 'image' : own ? 'static' : 'section');
  const name = node.getAttribute('aria-label') || (control && node.labels?.[0]?.innerText)
    || (role === 'push button' && node.value) || own || (!control && node.innerText) || node.title
    || node.alt || node.placeholder || '';
  const typed = TYPED.includes(role), chosen = tag === 'select' && node.selectedOptions[0];
  const value = typed ? node.value : chosen ? chosen.text : '';
  return [
    role, name.trim().slice(0, MAX_NAME), box.left / 160, box.top / 210, box.width / 160,
    box.height / 210, String(value).slice(0, MAX_NAME), !!node.checked || node.ariaSelected === 'true',
    w.held === node, typed && !node.readOnly && !node.disabled,
  ];
}

function look(w) {
  const items = [];
  for (const node of w.document.body.querySelectorAll(':not(#wrap, #area)')) {
    const made = node.closest(OUTSIDE) ? null : item(node, w);
    if (made && items.push(made) >= MAX_ITEMS) break;
  }
  const words = w.core.getUtterance();
  return {
    instruction: String(words.utterance ?? words).slice(0, 1000), items,
    done: w.WOB_DONE_GLOBAL, raw: Number(w.WOB_RAW_REWARD_GLOBAL),
  };
}

async function show(slot, url) {
  frames[slot]?.remove();
  const frame = frames[slot] = document.createElement('iframe');
  frame.style = 'position:absolute; left:0; top:0; width:500px; height:320px; border:0';
  frame.src = url;
  document.body.append(frame);
  for (const end = Date.now() + LOAD_SECONDS * 1000; !frame.contentWindow.core?.cover_div; await pause(5))
    if (Date.now() > end) throw new Error(`the page did not load within ${LOAD_SECONDS} s`);
  const w = frame.contentWindow, style = w.document.createElement('style');
  style.textContent = '#reward-display, #click-canvas { visibility: hidden; }';
  w.document.head.append(style);
  w.core.cover_div.onclick = null;
  w.alert = w.confirm = w.prompt = () => true; // a box would hold up the other pages too
  w.staged = true;
}

// Chromium takes the focus from a frame's element when another frame gets it, so it is only acted:
// `held` has the keyboard.
function focus(w, node) {
  const fire = (on, type, bubbles) => on?.dispatchEvent(new w.FocusEvent(type, { bubbles }));
  const old = w.held;
  if (old === node) return;
  w.held = node;
  for (const [type, bubbles] of [['blur', false], ['focusout', true]]) fire(old, type, bubbles);
  for (const [type, bubbles] of [['focus', false], ['focusin', true]]) fire(node, type, bubbles);
}

// The window of a slot's page; null: it was left, and another page cannot be looked into.
function page(slot) {
  try {
    return frames[slot]?.contentWindow.staged ? frames[slot].contentWindow : null;
  } catch {
    return null;
  }
}

function begin(w, seed) {
  w.document.activeElement?.blur();
  w.held = null;
  for (const field of w.document.querySelectorAll('input, textarea')) { // some pages leave them so
    field.value = field.defaultValue;
    field.checked = field.defaultChecked;
  }
  w.Math.seedrandom(seed);
  w.core.EPISODE_MAX_TIME = 1e9;
  w.core.startEpisodeReal();
}

function act(w, x, y, text) {
  const target = w.document.elementFromPoint(x, y);
  if (!target) return;
  const fire = (type, detail) => target.dispatchEvent(new w.MouseEvent(type, {
    bubbles: true, cancelable: true, composed: true, view: w, clientX: x, clientY: y, detail,
  }));
  fire('mouseover', 0);
  fire('mousemove', 0);
  if (fire('mousedown', 1)) focus(w, target.closest(CONTROLS) || target.closest('label')?.control);
  fire('mouseup', 1);
  fire('click', 1);
  const field = w.held;
  if (!text || typeof field?.value !== 'string') return;
  field.value += text;
  for (const type of ['input', 'change']) field.dispatchEvent(new w.Event(type, { bubbles: true }));
}

async function wave(orders) {
  const answers = await Promise.all(orders.map(async ({ slot, url, seed, x, y, text }) => {
    try {
      if (url && !(page(slot) && frames[slot].getAttribute('src') === url)) await show(slot, url);
      const w = page(slot);
      if (!w) return LEFT;
      const before = seed !== undefined ? null : w.document.activeElement;
      if (seed !== undefined) begin(w, seed);
      else if (x !== undefined) act(w, x, y, text);
      const active = w.document.activeElement; // by the page itself
      if (active !== before) w.held = active;
      return null;
    } catch (error) {
      frames[slot]?.remove();
      frames[slot] = null;
      return { error: String(error).slice(0, 300) };
    }
  }));
  await pause(0); // what a page does a moment later belongs to this step
  return answers.map((answer, i) => {
    try {
      const w = page(orders[i].slot);
      return answer || (w ? look(w) : LEFT);
    } catch (error) {
      return { error: String(error).slice(0, 300) };
    }
  });
}
