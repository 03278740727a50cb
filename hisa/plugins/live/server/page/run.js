// One run: its live screen, its steps by the report's own templates, and what a person can do.
import { follow, get, path, picture, putPicture, send, wait } from "./api.js";
import { bounded, chip, duration, el, known, meter, money, say, setClass, setText, short, sure } from "./dom.js";
import { questionBox } from "./question.js";
import { fetchSteps, stepNumber, watchSteps } from "./steps.js";
import { Hold } from "./takeover.js";
const SOON = 250;
// The newest look, however fast they come, with the agent's clicks and what changed.
function liveScreen(address, signal) {
  const image = el("img", { alt: "the machine's screen", decoding: "async" }), spots = el("span"), caption = el("figcaption"), frame = el("span", { class: "shot screen missing" }, image, spots);
  const screen = { element: el("figure", {}, frame, caption), clicks: [], roi: null };
  let next = null, look = null, busy = false;
  screen.mark = () => {
    if (!look) return;
    const across = (value) => `${(100 * value) / look.width}%`, down = (value) => `${(100 * value) / look.height}%`, points = screen.clicks.slice(0, 50).map(() => el("i", { class: "click" }));
    points.forEach((spot, index) => Object.assign(spot.style, { left: across(screen.clicks[index][0]), top: down(screen.clicks[index][1]) }));
    const [left, top, right, bottom] = screen.roi ?? [], box = el("i", { class: "roi", hidden: !screen.roi });
    Object.assign(box.style, { left: across(left), top: down(top), width: across(right - left), height: down(bottom - top) });
    spots.replaceChildren(box, ...points);
  };
  screen.put = async (event) => {
    next = event;
    if (busy) return;
    for (busy = true; next && !signal.aborted; ) {
      [look, next] = [next, null];
      const blob = await picture(address("picture", look.image), signal).catch(() => null);
      if (blob) putPicture(image, blob);
      frame.classList.toggle("missing", !blob);
      frame.style.aspectRatio = `${look.width} / ${look.height}`;
      setText(caption, look.window, 160);
      screen.mark();
    }
    busy = false;
  };
  return screen;
}

function figures() {
  const names = { step: "steps", seconds: "at work", tokens: "tokens", usd: "model cost" }, cells = Object.fromEntries(Object.keys(names).map((name) => [name, el("b", {}, "–")]));
  const spent = el("span"), element = el("ul", { class: "tiles" }, Object.entries(names).map(([name, text]) => el("li", {}, cells[name], el("span", {}, text), name === "usd" && spent)));
  return { element, put: ({ step, max_steps, seconds, tokens, usd, budget_usd }) => {
    const texts = { step: max_steps ? `${step ?? 0} of ${max_steps}` : step ?? "–", seconds: duration(seconds), tokens: short(tokens), usd: money(usd) + (budget_usd ? ` of ${money(budget_usd)}` : "") };
    Object.entries(texts).forEach(([name, text]) => setText(cells[name], text));
    if (budget_usd) spent.replaceChildren(meter(usd, budget_usd, "spent of the budget"));
  } };
}
// Steps that are finished stay; those after them are fetched again whenever something was logged.
function stepList(id, signal) {
  const finished = el("div"), running = el("div"), element = el("section", { "aria-label": "Steps" }, el("h2", { class: "steps-title" }, "Steps"), finished, running);
  const list = { done: 0, element }, watch = watchSteps(element, signal);
  let shown = 0, busy = false, again = false;
  list.refresh = async () => {
    if (busy) return void (again = true);
    [busy, again] = [true, false];
    await wait(SOON, signal);
    const { done } = list, nodes = await fetchSteps(id, shown, signal).catch(() => []), open = nodes.findIndex((node) => stepNumber(node) > done);
    const kept = open < 0 ? nodes : nodes.slice(0, open), last = Math.max(0, ...kept.map((node) => stepNumber(node) || 0));
    if (last > shown) finished.append(...kept);
    if (nodes.length) running.replaceChildren(...(last > shown ? nodes.slice(kept.length) : nodes));
    shown = Math.max(shown, last);
    watch(nodes);
    busy = false;
    if (again && !signal.aborted) list.refresh();
  };
  return list;
}
export async function show(root, [id], signal) {
  const address = (...more) => path("runs", id, ...more), screen = liveScreen(address, signal), sums = figures(), steps = stepList(id, signal), asked = questionBox(address, signal);
  const badges = el("p", { class: "badges", role: "status" }), thought = el("p", { class: "thought" }), deed = el("pre", { class: "code", hidden: true }), line = el("p", { class: "note", role: "status", hidden: true });
  const name = el("input", { id: "viewer", maxlength: 60, autocomplete: "nickname", value: sessionStorage.getItem("viewer") ?? "a person" }), heading = root.querySelector("h1");
  let record = await get(address(), signal), status = null, hold = null, waiting = false;
  const tell = (text, bad) => { setText(line, text, 500); setClass(line, `note ${bad ? "bad" : "calm"}`); line.hidden = !text; };
  const post = async (what) => { try { await send(address(what)); refreshRecord(); } catch (error) { tell(error.message, true); } };
  const paused = () => ["paused", "pausing"].includes(status?.state), button = (text, onclick, kind) => el("button", { onclick, class: kind }, text);
  const pause = button("Pause", () => post(paused() ? "resume_agent" : "pause"));
  const stop = button("Stop", async () => (await sure("Stop this run? It ends as stopped.", "Stop the run")) && post("stop"), "danger"), take = button("Take over", () => (hold ? hold.give() : takeOver()), "primary");
  function takeOver() {
    sessionStorage.setItem("viewer", name.value);
    tell("Waiting until the agent is parked…");
    hold = new Hold(id, name.value.trim() || "a person", (text) => { tell(""); say(text); }, (text, error) => {
      hold = hold.element.replaceWith(screen.element);
      tell(error || `Given back. ${text}`, error);
      put();
    });
    screen.element.replaceWith(hold.element);
    put();
  }
  function put() {
    const live = record.socket && !record.exit_status, other = status?.state === "held" && !hold, state = (live && status?.state) || record.exit_status || record.state;
    const words = [state, other && `held by ${bounded(status.holder, 60)}`, known(record.score) && `score ${Number(record.score).toFixed(2)}`].filter(Boolean);
    if (badges.dataset.shown !== words.join()) badges.replaceChildren(...words.map((word) => chip(word, "badge")));
    badges.dataset.shown = words.join();
    sums.put({ ...record, ...Object.fromEntries(Object.entries((live && status) || {}).filter(([, value]) => known(value))) });
    [pause, take, stop].forEach((item) => (item.hidden = !live));
    name.parentNode.hidden = !live || Boolean(hold);
    [paused() ? "Resume" : "Pause", hold ? "Give back" : "Take over"].forEach((text, index) => setText([pause, take][index], text));
    [pause.disabled, take.disabled] = [Boolean(hold) || other, other];
    asked.put(live ? status?.question : null, status?.can_ask);
  }
  async function refreshRecord() {
    if (waiting) return;
    waiting = true;
    waiting = await wait(2 * SOON, signal);
    record = await get(address(), signal).catch(() => record);
    put();
  }
  const heard = {
    observed: (event) => screen.put(event),
    planned: (event) => { setText(thought, event.thought, 2000); deed.hidden = false; setText(deed, `${event.tool} ${event.description ?? ""}`, 600); },
    acted: (event) => { Object.assign(screen, { clicks: event.points ?? [], roi: null }).mark(); setText(deed, typeof event.input === "string" ? event.input : JSON.stringify(event.input), 1500); },
    abstracted: (event) => Object.assign(screen, { roi: event.roi }).mark(),
    person_acted: (event) => hold || tell([`A person: ${String(event.did).replaceAll("_", " ")}.`, event.text, event.error].filter(Boolean).join(" "), event.error),
    step_finished: (event) => { steps.done = Math.max(steps.done, event.step); refreshRecord(); }, run_resumed: () => refreshRecord(),
    run_finished: (event) => { steps.done = Infinity; tell(event.message); refreshRecord(); } };
  setText(heading, record.instruction || record.task || id, 2000);
  setClass(heading, heading.textContent.length > 240 ? "long" : "");
  document.title = `${bounded(heading.textContent, 60)} – HiSA`;
  heading.before(el("p", { class: "brand" }, "HiSA run ", el("code", {}, id)));
  const about = [record.environment, ...Object.entries(record.models ?? {}).map((pair) => pair.join(" ")), record.bench].filter(Boolean).join(" · ");
  root.append(badges, el("p", { class: "muted small" }, bounded(about, 400)), el("div", { class: "row", role: "group", "aria-label": "Steering" }, pause, take, stop, el("span", { class: "check" }, el("label", { for: "viewer" }, "as"), name)),
    line, asked.element, el("div", { class: "pair stage" }, el("div", {}, screen.element), el("div", {}, sums.element, el("h2", {}, "Now"), thought, deed)), steps.element);
  signal.addEventListener("abort", () => hold?.finish("", ""));
  put();
  steps.refresh();
  follow(address("events"), {
    status: (data) => { if (data.state !== status?.state || data.ok !== status?.ok) refreshRecord(); status = data; put(); },
    event: (event) => { heard[event.type]?.(event); if (event.type in heard) steps.refresh(); } }, signal);
}
