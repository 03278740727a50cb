// The machine in the person's hands: a canvas that takes mouse, touch and keys, over one WebSocket.

import { token } from "./api.js";
import { el, say, setText } from "./dom.js";

const CLICK_WAIT = 230, TYPE_WAIT = 150, MOVE_EVERY = 150, LONG_PRESS = 550, FAR = 5; // milliseconds; FAR: pixels shown
const BUTTONS = ["left", "middle", "right"];
const ROW = { Esc: "esc", Tab: "tab", Enter: "enter", "⌫": "backspace", "←": "left", "↑": "up", "↓": "down", "→": "right" };

export class Hold {
  // `ended(line, error)` is called once, when the machine is given back or the connection is lost.
  constructor(id, viewer, ended) {
    Object.assign(this, { ended, queue: [], typed: "", at: [0, 0], captured: false, size: [1, 1], newest: 0 });
    this.canvas = el("canvas", { tabindex: 0, role: "application", width: 1, height: 1,
      "aria-label": "The machine's screen. Enter gives it the keyboard, Control Alt Escape takes it back." });
    this.note = el("p", { class: "note warn", role: "alert", hidden: true });
    this.release = el("button", { onclick: () => this.capture(false), hidden: true }, "Free the keyboard");
    this.keysNote = el("span", { class: "muted small" });
    this.element = el("div", { class: "hold" }, el("div", { class: "canvas-frame" }, this.canvas),
      el("div", { class: "row" }, this.keysNote, this.release), this.keyRow(), this.typeForm(), this.note);
    this.capture(false);
    this.listen();
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/api/runs/${encodeURIComponent(id)}/input`);
    this.socket.binaryType = "blob";
    this.socket.onopen = () => [{ token: token() }, { take: viewer }].forEach((message) => this.socket.send(JSON.stringify(message)));
    this.socket.onmessage = ({ data }) => (typeof data === "string" ? this.heard(JSON.parse(data)) : this.draw(data));
    this.socket.onclose = () => this.finish("", this.held ? "The connection was lost, and the machine went back to the agent." : "The machine could not be taken over.");
  }

  heard(message) {
    if (message.lease) {
      this.held = true;
      this.size = [message.width || 1, message.height || 1];
      this.canvas.style.aspectRatio = `${this.size[0]} / ${this.size[1]}`;
      this.canvas.focus();
      say("You have the machine. Press Enter to give it the keyboard.");
    } else if ("line" in message) this.finish(message.line, "");
    else if (message.error && !this.held) this.finish("", message.error);
    else if (message.error) this.warn(message.error);
  }

  warn(text) {
    setText(this.note, text, 300);
    this.note.hidden = !text;
  }

  async draw(blob) {
    const order = ++this.newest;
    const bitmap = await createImageBitmap(blob).catch(() => null);
    if (!bitmap || order < this.newest) return bitmap?.close();
    if (this.canvas.width !== bitmap.width || this.canvas.height !== bitmap.height) Object.assign(this.canvas, { width: bitmap.width, height: bitmap.height });
    this.canvas.getContext("2d").drawImage(bitmap, 0, 0);
    bitmap.close();
    this.canvas.dataset.frames = order;
  }

  give() {
    this.flush();
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ give: true }));
  }

  finish(line, error) {
    if (this.over) return;
    this.over = true;
    [this.clickTimer, this.typeTimer, this.pressTimer].forEach(clearTimeout);
    this.socket.close();
    this.ended(line, error);
  }

  // Acts go out in the order in which they were made; typed letters are gathered into one.
  act(...acts) {
    this.flushTyped();
    this.queue.push(...acts);
    this.flush();
  }

  flushTyped() {
    clearTimeout(this.typeTimer);
    if (this.typed) this.queue.push({ kind: "type", text: this.typed });
    this.typed = "";
  }

  flush() {
    this.flushTyped();
    while (this.queue.length && this.held && this.socket.readyState === WebSocket.OPEN) {
      this.warn("");
      this.socket.send(JSON.stringify({ acts: this.queue.splice(0, 50) }));
    }
  }

  // Shown pixels to the machine's: the ratio of the two sizes, whatever the screen's density.
  place(event) {
    const box = this.canvas.getBoundingClientRect(), [width, height] = this.size;
    const along = (at, from, shown, real) => Math.max(0, Math.min(real - 1, Math.floor(((at - from) * real) / shown)));
    return [along(event.clientX, box.left, box.width, width), along(event.clientY, box.top, box.height, height)];
  }

  listen() {
    const on = (type, handler) => this.canvas.addEventListener(type, (event) => { if (this.held) handler.call(this, event); }, { passive: false });
    on("pointerdown", this.pressed);
    on("pointermove", this.moved);
    on("pointerup", this.lifted);
    on("pointercancel", () => { this.down = null; clearTimeout(this.pressTimer); });
    on("contextmenu", (event) => event.preventDefault());
    on("wheel", this.wheeled);
    on("keydown", this.key);
    on("blur", () => this.capture(false));
  }

  pressed(event) {
    if (!event.isPrimary) return void (this.down = null);
    if (event.pointerType !== "touch") event.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    if (event.pointerType !== "touch") this.capture(true);
    this.down = { from: [event.clientX, event.clientY], path: [this.place(event)], button: BUTTONS[event.button] ?? "left" };
    clearTimeout(this.pressTimer);
    if (event.pointerType === "touch") this.pressTimer = setTimeout(() => {
      if (this.down && this.down.path.length === 1) this.click(this.down.path[0], "right");
      this.down = null;
    }, LONG_PRESS);
  }

  moved(event) {
    const at = (this.at = this.place(event));
    if (this.down) {
      const far = Math.hypot(event.clientX - this.down.from[0], event.clientY - this.down.from[1]) > FAR;
      if (far || this.down.path.length > 1) this.down.path.push(at);
    } else if (event.pointerType === "mouse" && Date.now() - (this.movedAt ?? 0) > MOVE_EVERY && !this.clicks) {
      this.movedAt = Date.now();
      this.act({ kind: "move", x: at[0], y: at[1] });
    }
  }

  lifted(event) {
    clearTimeout(this.pressTimer);
    const { down } = this;
    this.down = null;
    if (!down) return;
    const end = (this.at = this.place(event));
    if (down.path.length === 1) return this.click(down.path[0], down.button);
    const every = Math.ceil(down.path.length / 30);
    if (down.button === "left") this.act({ kind: "drag", path: [...down.path.filter((_, index) => index % every === 0), end] });
  }

  // A left click waits a moment for a second and a third, and goes out as one act with its count.
  click(at, button) {
    this.at = at;
    const send = (count) => this.act({ kind: "click", x: at[0], y: at[1], button, count });
    clearTimeout(this.clickTimer);
    if (button !== "left") return send(1);
    this.clicks = Math.min(3, (this.clicks ?? 0) + 1);
    const done = () => { send(this.clicks); this.clicks = 0; };
    if (this.clicks === 3) done();
    else this.clickTimer = setTimeout(done, CLICK_WAIT);
  }

  wheeled(event) {
    event.preventDefault();
    const unit = event.deltaMode === 0 ? 100 : event.deltaMode === 1 ? 3 : 1;
    this.turned = [(this.turned?.[0] ?? 0) + event.deltaX / unit, (this.turned?.[1] ?? 0) + event.deltaY / unit];
    const [dx, dy] = this.turned.map(Math.trunc), [x, y] = this.place(event);
    if (!dx && !dy) return;
    this.turned = [this.turned[0] - dx, this.turned[1] - dy];
    this.act({ kind: "scroll", x, y, dx, dy });
  }

  capture(on) {
    this.captured = on;
    this.release.hidden = !on;
    this.canvas.classList.toggle("captured", on);
    setText(this.keysNote, on ? "The keyboard goes to the machine. Ctrl+Alt+Esc frees it." : "The keyboard is yours. A click on the picture, or Enter there, gives it to the machine.");
  }

  key(event) {
    if (!this.captured) {
      if (event.key !== "Enter") return;
      event.preventDefault();
      return this.capture(true);
    }
    event.preventDefault();
    event.stopPropagation();
    const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
    if (ctrlKey && altKey && key === "Escape") return this.capture(false);
    if (["Control", "Alt", "Shift", "Meta", "AltGraph", "CapsLock", "Dead", "Process", "Unidentified"].includes(key)) return;
    const letter = [...key].length === 1;
    if (letter && (event.getModifierState("AltGraph") || !(ctrlKey || altKey || metaKey))) {
      this.typed += key;
      clearTimeout(this.typeTimer);
      this.typeTimer = setTimeout(() => this.flush(), TYPE_WAIT);
      return;
    }
    const held = [ctrlKey && "ctrl", altKey && "alt", metaKey && "win", shiftKey && "shift"].filter(Boolean);
    this.act({ kind: "press", keys: [...held, key === " " ? "space" : key.toLowerCase()] });
  }

  keyRow() {
    const turn = (text, label, dy) => el("button", { type: "button", "aria-label": label, onclick: () => this.act({ kind: "scroll", x: this.at[0], y: this.at[1], dx: 0, dy }) }, text);
    return el("div", { class: "row keys-row", role: "group", "aria-label": "Keys for the machine" },
      Object.entries(ROW).map(([text, key]) => el("button", { type: "button", "aria-label": `key ${key}`, onclick: () => this.act({ kind: "press", keys: [key] }) }, text)),
      turn("Wheel ▲", "wheel up", -3), turn("Wheel ▼", "wheel down", 3));
  }

  typeForm() {
    const text = el("input", { id: "to-type", type: "text", maxlength: 2000, autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
    const hide = el("input", { type: "checkbox", id: "hide-typed", onchange: () => (text.type = hide.checked ? "password" : "text") });
    return el("form", { class: "row", onsubmit: (event) => {
      event.preventDefault();
      if (text.value) this.act({ kind: "type", text: text.value });
      text.value = "";
    } }, el("label", { for: "to-type" }, "Type a text"), text, el("label", { for: "hide-typed", class: "check" }, hide, "hide it here"), el("button", {}, "Type"));
  }
}
