// The machine that a person took over: a canvas that takes mouse, touch and keys, over one WebSocket.
import { token } from "./api.js";
import { el, setText } from "./dom.js";
const CLICK_WAIT = 230, TYPE_WAIT = 150, MOVE_EVERY = 150, LONG_PRESS = 550, FAR = 5; // milliseconds; FAR: shown pixels
const BUTTONS = ["left", "middle", "right"], SILENT_KEYS = ["Control", "Alt", "Shift", "Meta", "AltGraph", "CapsLock", "Dead", "Process", "Unidentified"];
const KEYS = { Esc: "esc", Tab: "tab", Enter: "enter", "⌫": "backspace", "←": "left", "↑": "up", "↓": "down", "→": "right" };
const YOURS = "The keyboard is yours. A click on the picture, or Enter there, gives it to the machine.", ITS = "The keyboard goes to the machine. Ctrl+Alt+Esc frees it.";
export class Hold {
  // `taken(text)` is called when the person has the machine, `ended(line, error)` once it is given back or the connection is lost.
  constructor(id, viewer, taken, ended) {
    Object.assign(this, { taken, ended, typed: "", at: [0, 0], size: [1, 1], newest: 0, turned: [0, 0] });
    this.canvas = el("canvas", { tabindex: 0, role: "application", width: 16, height: 10, "aria-label": "The machine's screen. Enter gives it the keyboard, Control Alt Escape takes it back." });
    this.note = el("p", { class: "note warn", role: "alert", hidden: true });
    this.release = el("button", { onclick: () => this.capture(false) }, "Free the keyboard");
    this.keysNote = el("span", { class: "muted small" });
    this.element = el("div", { class: "hold" }, this.canvas, el("div", { class: "row" }, this.keysNote, this.release), this.note, this.keyRow(), this.typeForm());
    this.capture(false);
    const handlers = { pointerdown: this.pressed, pointermove: this.moved, pointerup: this.lifted, pointercancel: this.drop, wheel: this.wheeled, keydown: this.key, blur: () => this.capture(false), contextmenu: (event) => event.preventDefault() };
    for (const [type, handler] of Object.entries(handlers)) this.canvas.addEventListener(type, (event) => this.held && handler.call(this, event), { passive: false });
    this.socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/runs/${encodeURIComponent(id)}/input`);
    this.socket.onopen = () => [{ token: token() }, { take: viewer }].forEach((message) => this.socket.send(JSON.stringify(message)));
    this.socket.onmessage = ({ data }) => (typeof data === "string" ? this.heard(JSON.parse(data)) : this.draw(data));
    this.socket.onclose = () => this.finish("", this.held ? "The connection was lost, and the machine went back to the agent." : "The machine could not be taken over.");
  }
  heard(message) {
    if (message.lease) {
      [this.held, this.size] = [true, [message.width || 1, message.height || 1]];
      this.canvas.style.aspectRatio = `${this.size[0]} / ${this.size[1]}`;
      this.canvas.focus();
      this.taken("You have the machine. Press Enter to give it the keyboard.");
    } else if ("line" in message) this.finish(message.line, "");
    else if (message.error && !this.held) this.finish("", message.error);
    else if (message.error) this.warn(message.error);
  }
  warn(text) { setText(this.note, text, 300); this.note.hidden = !text; }
  async draw(blob) {
    const order = ++this.newest, bitmap = await createImageBitmap(blob).catch(() => null), { canvas } = this;
    if (!bitmap || order < this.newest) return bitmap?.close();
    if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    bitmap.close();
  }
  give() { this.act(); this.socket.send(JSON.stringify({ give: true })); }
  finish(line, error) { if (this.over) return; [this.over, this.held] = [true, false]; this.socket.close(); this.ended(line, error); }
  // Sends acts in the order in which they were done, after what was waiting: a click, or gathered letters.
  act(...acts) {
    [this.clickTimer, this.typeTimer].forEach(clearTimeout);
    const all = [this.waiting, this.typed && { kind: "type", text: this.typed.slice(0, 2000) }, ...acts].filter(Boolean);
    [this.waiting, this.typed] = [null, ""];
    if (!all.length || !this.held || this.socket.readyState !== WebSocket.OPEN) return;
    this.warn("");
    this.socket.send(JSON.stringify({ acts: all }));
  }
  // Converts shown pixels to the machine's by the ratio of the two sizes, whatever the density of the viewer's screen.
  place({ clientX, clientY }) {
    const box = this.canvas.getBoundingClientRect(), along = (at, from, shown, real) => Math.max(0, Math.min(real - 1, Math.floor(((at - from) * real) / shown)));
    return (this.at = [along(clientX, box.left, box.width, this.size[0]), along(clientY, box.top, box.height, this.size[1])]);
  }
  pressed(event) {
    const touch = event.pointerType === "touch", place = this.place(event);
    if (!event.isPrimary) return this.drop();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.capture(!touch);
    this.down = { from: [event.clientX, event.clientY], path: [place], button: BUTTONS[event.button] ?? "left" };
    if (touch) this.pressTimer = setTimeout(() => { if (this.down?.path.length === 1) this.click(place, "right"); this.drop(); }, LONG_PRESS);
  }
  drop() { clearTimeout(this.pressTimer); this.down = null; }
  moved(event) {
    const place = this.place(event), { down } = this;
    if (down && (down.path.length > 1 || Math.hypot(event.clientX - down.from[0], event.clientY - down.from[1]) > FAR)) down.path.push(place);
    if (down || event.pointerType !== "mouse" || this.waiting || Date.now() - (this.movedAt ?? 0) < MOVE_EVERY) return;
    this.movedAt = Date.now();
    this.act({ kind: "move", x: place[0], y: place[1] });
  }
  lifted(event) {
    const { down } = this, end = this.place(event), every = Math.ceil((down?.path.length ?? 0) / 30);
    this.drop();
    if (down?.path.length === 1) this.click(down.path[0], down.button);
    else if (down?.button === "left") this.act({ kind: "drag", path: [...down.path.filter((_, index) => index % every === 0), end] });
  }
  // A left click waits a moment for a second and a third, and is sent as one act with its count.
  click([x, y], button) {
    if (button !== "left") return this.act({ kind: "click", x, y, button, count: 1 });
    if (this.typed || (this.waiting && Math.hypot(x - this.waiting.x, y - this.waiting.y) > 2 * FAR)) this.act();
    clearTimeout(this.clickTimer);
    this.waiting = { kind: "click", x, y, button, count: (this.waiting?.count ?? 0) + 1 };
    if (this.waiting.count === 3) this.act();
    else this.clickTimer = setTimeout(() => this.act(), CLICK_WAIT);
  }
  wheeled(event) {
    event.preventDefault();
    const unit = [100, 3, 1][event.deltaMode], [x, y] = this.place(event), sum = [this.turned[0] + event.deltaX / unit, this.turned[1] + event.deltaY / unit], [dx, dy] = sum.map(Math.trunc);
    this.turned = [sum[0] - dx, sum[1] - dy];
    if (dx || dy) this.act({ kind: "scroll", x, y, dx, dy: -dy }); // up is positive there
  }
  capture(on) { this.captured = on; this.release.hidden = !on; this.canvas.classList.toggle("captured", on); setText(this.keysNote, on ? ITS : YOURS); }
  key(event) {
    const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
    if (!this.captured && key !== "Enter") return;
    event.preventDefault();
    if (!this.captured) return this.capture(true);
    if (ctrlKey && altKey && key === "Escape") return this.capture(false);
    if (SILENT_KEYS.includes(key)) return;
    if ([...key].length === 1 && (event.getModifierState("AltGraph") || !(ctrlKey || altKey || metaKey))) {
      if (this.waiting) this.act();
      this.typed += key;
      clearTimeout(this.typeTimer);
      this.typeTimer = setTimeout(() => this.act(), TYPE_WAIT);
    } else this.act({ kind: "press", keys: [ctrlKey && "ctrl", altKey && "alt", metaKey && "win", shiftKey && "shift", key === " " ? "space" : key.toLowerCase()].filter(Boolean) });
  }
  keyRow() {
    const button = (text, label, act) => el("button", { type: "button", "aria-label": label, onclick: () => this.act(act()) }, text);
    const turn = (dy) => () => ({ kind: "scroll", x: this.at[0], y: this.at[1], dx: 0, dy });
    return el("div", { class: "row keys-row", role: "group", "aria-label": "Keys for the machine" }, button("Wheel ▲", "wheel up", turn(3)), button("Wheel ▼", "wheel down", turn(-3)),
      Object.entries(KEYS).map(([text, key]) => button(text, `key ${key}`, () => ({ kind: "press", keys: [key] }))));
  }
  typeForm() {
    const text = el("input", { id: "to-type", type: "text", maxlength: 2000, autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
    const hide = el("input", { type: "checkbox", id: "hide-typed", onchange: () => (text.type = hide.checked ? "password" : "text") });
    const type = (event) => { event.preventDefault(); if (text.value) this.act({ kind: "type", text: text.value }); text.value = ""; };
    return el("form", { class: "row", onsubmit: type }, el("label", { for: "to-type" }, "Type a text"), text, el("label", { for: "hide-typed", class: "check" }, hide, "hide it here"), el("button", {}, "Type"));
  }
}
