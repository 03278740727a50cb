// One run: its screen as it goes, its steps by the report's own templates, and what a person can do.

import { follow, get, path, picture, putPicture, send, wait } from "./api.js";
import { bounded, chip, count, duration, el, known, meter, money, say, setText, short, sure, tone } from "./dom.js";
import { question } from "./question.js";
import { fetchSteps, stepNumber, watchSteps } from "./steps.js";
import { Hold } from "./takeover.js";

const SOON = 250;

function stage() {
  const image = el("img", { alt: "the machine's screen", decoding: "async" }), marks = el("span");
  const frame = el("span", { class: "shot screen missing" }, image, marks), caption = el("span", { class: "muted small" });
  return { image, marks, frame, caption, element: el("figure", {}, frame, el("figcaption", {}, caption)), look: null };
}

function mark(on, name, left, top, width, height) {
  const spot = el("i", { class: name }), { width: wide, height: high } = on.look;
  const set = { left: left / wide, top: top / high, width: width / wide, height: height / high };
  for (const [side, value] of Object.entries(set)) if (Number.isFinite(value)) spot.style[side] = `${100 * value}%`;
  on.marks.append(spot);
}

function figures() {
  const names = { step: "steps", time: "at work", tokens: "tokens", cost: "model cost" };
  const cells = Object.fromEntries(Object.keys(names).map((name) => [name, el("b", {}, "–")]));
  const element = el("ul", { class: "tiles" }, Object.entries(names).map(([name, text]) => el("li", {}, cells[name], el("span", {}, text))));
  return { element, put: (record) => {
    setText(cells.step, record.max_steps ? `${record.step ?? 0} of ${record.max_steps}` : record.step ?? "–");
    setText(cells.time, duration(record.seconds));
    setText(cells.tokens, short(record.tokens));
    setText(cells.cost, known(record.budget_usd) ? `${money(record.usd)} of ${money(record.budget_usd)}` : money(record.usd));
  } };
}

// Steps that are finished stay; those after them are fetched anew whenever something was logged.
function stepList(id, signal) {
  const finished = el("div"), running = el("div");
  const element = el("section", { "aria-label": "Steps" }, el("h2", { class: "steps-title" }, "Steps"), finished, running);
  const list = { done: 0, element }, watch = watchSteps(element, signal);
  let shown = 0, busy = false, again = false;
  list.refresh = async () => {
    if (busy) return void (again = true);
    busy = true;
    again = false;
    await wait(SOON, signal);
    const { done } = list, nodes = await fetchSteps(id, shown, signal).catch(() => []);
    const open = nodes.findIndex((node) => stepNumber(node) > done), kept = open < 0 ? nodes : nodes.slice(0, open);
    const last = Math.max(...kept.map((node) => stepNumber(node) || 0));
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
  const address = (...more) => path("runs", id, ...more);
  let record = await get(address(), signal), status = null, hold = null, pictureBusy = false;
  const screen = stage(), sums = figures(), steps = stepList(id, signal), heading = root.querySelector("h1");
  const badges = el("p", { class: "badges" }), thought = el("p", { class: "thought" }), deed = el("pre", { class: "code", hidden: true });
  const line = el("p", { class: "note calm", role: "status", hidden: true });
  const ask = question(address, signal), name = el("input", { id: "viewer", maxlength: 60, autocomplete: "nickname", value: sessionStorage.getItem("viewer") ?? "a person" });
  const tell = (text, bad) => { setText(line, text, 500); line.className = `note ${bad ? "bad" : "calm"}`; line.hidden = !text; };
  const press = (what, body) => async () => {
    try { await send(address(what()), body); } catch (error) { tell(error.message, true); }
  };
  const button = (text, onclick, more = {}) => el("button", { onclick, ...more }, text);
  const paused = () => ["paused", "pausing"].includes(status?.state);
  const pause = button("Pause", () => press(() => (paused() ? "resume_agent" : "pause"))());
  const stop = button("Stop", async () => (await sure("Stop this run? It ends as stopped; it can be resumed later.", "Stop the run")) && press(() => "stop")(), { class: "danger" });
  const again = button("Resume the run", press(() => "resume"), { class: "primary" });
  const take = button("Take over", () => (hold ? hold.give() : takeOver()), { class: "primary" });
  const controls = el("div", { class: "row controls", role: "group", "aria-label": "Steering" }, pause, take, stop, again,
    el("span", { class: "who" }, el("label", { for: "viewer" }, "as"), name));

  function takeOver() {
    sessionStorage.setItem("viewer", name.value);
    tell("Waiting until the agent is parked…");
    hold = new Hold(id, name.value || "a person", (text, error) => {
      hold.element.replaceWith(screen.element);
      hold = null;
      tell(error || `Given back. ${text}`, error);
      put();
      if (!error) take.focus();
    });
    screen.element.replaceWith(hold.element);
    put();
  }

  function put() {
    const shown = { ...record, ...Object.fromEntries(Object.entries(status ?? {}).filter(([, value]) => known(value))) };
    const live = record.socket && !record.exit_status, held = status?.state === "held" && !hold;
    const state = live ? status?.state ?? record.state : record.exit_status || record.state;
    const words = [state, live && status?.phase, held && `held by ${bounded(status.holder, 60)}`].filter(Boolean);
    if (badges.dataset.shown !== words.join()) {
      badges.replaceChildren(...words.map((word, index) => el("span", { class: `badge ${index ? "calm" : tone(word)}` }, bounded(word, 90).replaceAll("_", " "))),
        known(record.score) ? el("span", { class: "badge calm" }, `score ${Number(record.score).toFixed(2)}`) : "");
      if (badges.dataset.shown) say(`The run is ${words.join(", ")}`);
      badges.dataset.shown = words.join();
    }
    sums.put(shown);
    [pause, stop, take].forEach((item) => (item.hidden = !live));
    name.parentNode.hidden = !live || Boolean(hold);
    again.hidden = Boolean(live || (record.exit_status && !["stopped", "interrupted"].includes(record.exit_status)));
    setText(pause, paused() ? "Resume" : "Pause");
    pause.disabled = Boolean(hold) || held;
    setText(take, hold ? "Give back" : "Take over");
    take.disabled = held;
    ask.put(live ? status?.question : null, status?.can_ask);
  }

  // Only the newest look is loaded, however fast they come.
  async function look(event) {
    screen.next = event;
    if (pictureBusy) return;
    pictureBusy = true;
    while (screen.next && !signal.aborted) {
      const next = screen.next;
      screen.next = null;
      const width = Math.ceil((screen.frame.clientWidth || 640) * devicePixelRatio);
      const blob = await picture(`${address("picture", next.image)}?width=${Math.min(width, next.width)}`, signal).catch(() => null);
      if (blob) putPicture(screen.image, blob);
      screen.frame.classList.toggle("missing", !blob);
      screen.frame.style.aspectRatio = `${next.width} / ${next.height}`;
      if (screen.step !== next.step) screen.marks.replaceChildren();
      Object.assign(screen, { look: next, step: next.step });
      setText(screen.caption, next.window, 160);
      screen.pending?.();
    }
    pictureBusy = false;
  }

  const drawn = (draw) => { screen.pending = () => { screen.pending = null; draw(); }; if (screen.look && !pictureBusy) screen.pending(); };
  const heard = {
    observed: look,
    planned: (event) => { setText(thought, event.thought, 2000); deed.hidden = false; setText(deed, `${event.tool} ${event.description ?? ""}`, 600); },
    acted: (event) => {
      setText(deed, typeof event.input === "string" ? event.input : JSON.stringify(event.input), 1500);
      drawn(() => { screen.marks.replaceChildren(); (event.points ?? []).slice(0, 50).forEach(([x, y]) => mark(screen, "click", x, y)); });
    },
    abstracted: ({ roi }) => roi && drawn(() => mark(screen, "roi", roi[0], roi[1], roi[2] - roi[0], roi[3] - roi[1])),
    person_acted: (event) => tell([`A person: ${String(event.did).replaceAll("_", " ")}.`, event.text, event.error].filter(Boolean).join(" "), event.error),
    step_finished: (event) => { steps.done = Math.max(steps.done, event.step); refreshRecord(); },
    run_finished: (event) => { steps.done = Infinity; tell(event.message); refreshRecord(); },
  };
  let waiting = false;
  async function refreshRecord() {
    if (waiting) return;
    waiting = true;
    await wait(2 * SOON, signal);
    waiting = false;
    record = await get(address(), signal).catch(() => record);
    put();
  }

  setText(heading, record.instruction || record.task || id, 2000);
  heading.classList.toggle("long", heading.textContent.length > 240);
  document.title = `${bounded(heading.textContent, 60)} – HiSA`;
  heading.before(el("p", { class: "brand" }, "HiSA run ", el("code", {}, id)));
  const about = [record.environment, record.models && Object.entries(record.models).map((pair) => pair.join(" ")).join(", "), record.bench].filter(Boolean).join(" · ");
  root.append(badges, el("p", { class: "muted small" }, bounded(about, 400)), controls, line, ask.element,
    el("div", { class: "pair stage" }, el("div", {}, screen.element), el("div", {}, sums.element, el("h2", {}, "Now"), thought, deed)), steps.element);
  signal.addEventListener("abort", () => hold?.finish("", ""));
  put();
  steps.refresh();
  follow(address("events"), {
    status: (data) => { status = data; if (data.state && !record.socket) refreshRecord(); put(); },
    event: (event) => { heard[event.type]?.(event); if (event.type in heard) steps.refresh(); },
    closed: () => Boolean(record.exit_status),
  }, signal);
}
