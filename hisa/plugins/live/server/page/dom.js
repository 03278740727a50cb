// Elements made from data: every text goes in by textContent, every length is bounded.

const LONGEST = 4000;

export function bounded(value, most = LONGEST) {
  const text = value === null || value === undefined ? "" : String(value);
  return text.length > most ? text.slice(0, most) + "…" : text;
}

// el("p", {class: "small", onclick: f, "aria-label": "x"}, "text", element, [elements])
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : bounded(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : bounded(child));
  }
  return element;
}

// Sets a text only where it differs, so that nothing is laid out again for nothing.
export function setText(element, value, most) {
  const text = bounded(value, most);
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element, name) {
  if (element.className !== name) element.className = name;
}

export function say(text) {
  setText(document.getElementById("say"), text, 300);
}

const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);
export const known = (value) => value !== null && value !== undefined && value !== "";
export const share = (value) => (number(value) === null ? "–" : `${(100 * value).toFixed(1)}%`);
export const count = (value) => (number(value) === null ? "–" : value.toLocaleString("en"));
export const percent = (part, whole) => Math.max(0, Math.min(100, (100 * part) / (whole || 1)));

export function money(value) {
  if (number(value) === null) return "–";
  return value && Math.abs(value) < 0.1 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`;
}

export function short(value) {
  if (number(value) === null) return "–";
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  return value >= 1e4 ? `${Math.round(value / 1e3)}k` : count(value);
}

export function duration(value) {
  if (number(value) === null) return "–";
  const whole = Math.round(value);
  if (whole < 60) return value < 10 ? `${value.toFixed(1)} s` : `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export function clock(value) {
  const date = new Date(typeof value === "number" ? value * 1000 : value);
  if (!value || Number.isNaN(date.getTime())) return "–";
  return date.toLocaleString("en-GB", { dateStyle: "short", timeStyle: "short" });
}

const TONES = {
  good: "done success scored allow allowed answered",
  bad: "failure failed error environment_error model_error refused defect deny refuse removed lost",
  warn: "paused pausing held unfinished interrupted stopped budget max_steps ask asked question step_limit",
  live: "running started planning acting active",
};

export function tone(state) {
  const word = String(state ?? "").toLowerCase();
  return Object.keys(TONES).find((name) => TONES[name].split(" ").includes(word)) ?? "calm";
}

export const chip = (state, text = state) =>
  el("span", { class: `chip ${tone(state)}` }, bounded(text, 40).replaceAll("_", " "));

export function meter(part, whole, label, extra = "") {
  const fill = el("i");
  fill.style.width = `${percent(part, whole)}%`;
  const shape = { class: `meter ${extra}`, role: "img", "aria-label": label };
  return el("span", shape, fill);
}

// A rate with its interval: the bar is the rate, the whisker from low to high.
export function interval(rate, low, high) {
  const words = known(low) ? `${share(rate)}, from ${share(low)} to ${share(high)}` : share(rate);
  const bar = meter(rate ?? 0, 1, words, "rate");
  if (known(low) && known(high)) {
    const whisker = el("b");
    whisker.style.left = `${percent(low, 1)}%`;
    whisker.style.width = `${Math.max(0.5, percent(high, 1) - percent(low, 1))}%`;
    bar.append(whisker);
  }
  return bar;
}

const plain = (value) => (Array.isArray(value) ? value.join(", ") : typeof value === "object" && value ? JSON.stringify(value) : value);
const label = (name) => name.replaceAll("_", " ");

export function table(rows, caption, columns = Object.keys(rows[0] ?? {})) {
  return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption },
    el("table", { class: "rows" },
      el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, label(name))))),
      el("tbody", {}, rows.slice(0, 500).map((row) => el("tr", {}, columns.map((name) =>
        el("td", { class: typeof row[name] === "number" ? "n" : "" }, bounded(plain(row[name]) ?? "–", 300)))))),
    ));
}

// Any plain object: single values as a list of terms, lists of objects as tables.
export function facts(object, without = []) {
  const entries = Object.entries(object ?? {}).filter(([name, value]) => !without.includes(name) && known(value));
  const isTable = (value) => Array.isArray(value) && typeof value[0] === "object";
  const single = entries.filter(([, value]) => !isTable(value));
  return [
    single.length > 0 && el("dl", {}, single.map(([name, value]) =>
      [el("dt", {}, label(name)), el("dd", {}, bounded(plain(value), 600))])),
    entries.filter(([, value]) => isTable(value)).map(([name, value]) =>
      [el("h3", {}, label(name)), table(value, label(name))]),
  ];
}

// Asks in a dialog; true where the person says yes.
export function sure(words, yes) {
  return new Promise((resolve) => {
    const close = (value) => () => { dialog.close(); resolve(value); };
    const dialog = el("dialog", { class: "sure", "aria-label": words, onclose: () => { dialog.remove(); resolve(false); } }, el("p", {}, words),
      el("div", { class: "row" }, el("button", { onclick: close(false) }, "Cancel"), el("button", { class: "danger", onclick: () => { resolve(true); dialog.close(); } }, yes)));
    document.body.append(dialog);
    dialog.showModal();
  });
}
