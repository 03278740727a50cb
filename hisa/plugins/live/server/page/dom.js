// Makes elements from data: every text is set by textContent, every length is bounded.
export function bounded(value, most = 4000) {
  const text = value === null || value === undefined ? "" : String(value);
  return text.length > most ? text.slice(0, most) + "…" : text;
}
// el("p", {class: "small", onclick: f, "aria-label": "x"}, "text", element, [elements])
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value === true ? "" : bounded(value));
  }
  element.append(...children.flat(3).filter((child) => (child ?? false) !== false).map((child) => (child instanceof Node ? child : bounded(child))));
  return element;
}
// Sets a text only if it differs, so that the page is not laid out again for nothing.
export function setText(element, value, most) { const text = bounded(value, most); if (element.textContent !== text) element.textContent = text; }
export const setClass = (element, name) => element.className !== name && (element.className = name);
export const say = (text) => setText(document.getElementById("say"), text, 300);
export const known = (value) => value !== null && value !== undefined && value !== "";
const number = (write) => (value) => (typeof value === "number" && Number.isFinite(value) ? write(value) : "–");
export const count = number((value) => value.toLocaleString("en", { maximumFractionDigits: 3 }));
export const money = number((value) => (value && Math.abs(value) < 0.1 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`));
export const short = number((value) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)}M` : value >= 1e4 ? `${Math.round(value / 1e3)}k` : count(value)));
export const duration = number((value) => {
  const whole = Math.round(value), minutes = Math.floor(whole / 60);
  if (whole < 60) return value < 10 ? `${value.toFixed(1)} s` : `${whole} s`;
  return whole < 3600 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
});
export function clock(value) {
  const date = new Date(typeof value === "number" ? value * 1000 : value);
  return !value || Number.isNaN(date.getTime()) ? "–" : date.toLocaleString("en-GB", { dateStyle: "short", timeStyle: "short" });
}
const TONES = {
  good: "succeeded success allow allowed", live: "running active", bad: "failure failed environment_error agent_broke_machine model_error refused defect deny removed",
  warn: "paused pausing held unfinished stopped budget max_steps ask question superseded" };
export const tone = (state) => Object.keys(TONES).find((name) => TONES[name].split(" ").includes(String(state).toLowerCase())) ?? "calm";
export const chip = (state, kind = "chip") => el("span", { class: `${kind} ${tone(state)}` }, bounded(state, 90).replaceAll("_", " "));
export const runLink = (id, text = id, name = "link") => el("a", { class: name, href: `#/run/${encodeURIComponent(id)}` }, bounded(text, 200));
const percent = (part, whole) => `${Math.max(0, Math.min(100, (100 * part) / (whole || 1) || 0))}%`;
export function meter(part, whole, label, extra = "") {
  const fill = el("i");
  fill.style.width = percent(part, whole);
  return el("span", { class: `meter ${extra}`, role: "img", "aria-label": label }, fill);
}
// Shows a dialog until it is closed.
export function openDialog(attributes, ...children) {
  const dialog = el("dialog", { onclose: () => dialog.remove(), ...attributes }, ...children);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
// Asks in a dialog; true if the person says yes.
export const sure = (words, yes) => new Promise((resolve) => {
  const answer = (value, text, name) => el("button", { class: name, onclick: () => { resolve(value); dialog.close(); } }, text);
  const dialog = openDialog({ class: "sure", "aria-label": words }, el("p", {}, words), el("div", { class: "row" }, answer(false, "Cancel"), answer(true, yes, "danger")));
  dialog.addEventListener("close", () => resolve(false));
});
