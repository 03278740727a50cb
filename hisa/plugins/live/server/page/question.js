// The box in which a run's question is answered.
import { send } from "./api.js";
import { bounded, el, say, setText } from "./dom.js";
const ABOUT = { acts: "May it do this?", commands: "May it run this?", files: "May it touch these files?", safety: "The model's maker asks",
  policy: "The policy asks", question: "The agent asks", hand_over: "The agent hands over to you" };
const APPROVE = { once: ["Allow once", "primary"], kind: ["Allow this kind for the run", ""], refuse: ["Refuse", ""], stop: ["Stop the run", "danger"] };
export function questionBox(address, signal) {
  const element = el("section", { class: "card question", hidden: true, "aria-label": "Question" }), left = el("span", { class: "muted small" });
  let shown, deadline = 0;
  const tick = setInterval(() => setText(left, deadline ? `${Math.max(0, Math.round(deadline - Date.now() / 1000))} s left` : ""), 1000);
  signal.addEventListener("abort", () => clearInterval(tick));
  function build(asked) {
    const open = ["question", "hand_over"].includes(asked.kind), wrong = el("p", { class: "note bad", role: "alert", hidden: true });
    const text = el("input", { id: "answer", maxlength: 2000, autocomplete: "off", placeholder: bounded(asked.default, 100) });
    const answer = async (body) => {
      const able = (yes) => element.querySelectorAll("button").forEach((item) => (item.disabled = !yes));
      able(false);
      try { await send(address("answer"), { question: asked.id, ...body }); say("Answered"); } catch (error) { able(true); setText(wrong, error.message, 300); wrong.hidden = false; }
    };
    const button = (words, body, name = "") => el("button", { type: "button", class: name, onclick: () => answer(body()) }, bounded(words, 120));
    const choices = open ? (asked.choices ?? []).slice(0, 30).map((choice) => button(choice, () => ({ text: choice })))
      : Object.entries(APPROVE).map(([kind, [words, name]]) => button(words, () => ({ kind, text: text.value }), name));
    const done = (event) => { event.preventDefault(); if (open) answer({ text: text.value || asked.default || "" }); };
    deadline = asked.deadline ?? 0;
    element.replaceChildren(el("h2", {}, ABOUT[asked.kind] ?? "Question"), el("pre", {}, asked.text), el("div", { class: "row" }, choices),
      el("form", { class: "row", onsubmit: done }, el("label", { for: "answer" }, open ? "Answer" : "A message to the agent"), text,
        open && el("button", { class: "primary" }, asked.kind === "hand_over" ? "Done" : "Answer"), left), wrong);
    say(`${ABOUT[asked.kind] ?? "Question"} ${bounded(asked.text, 200)}`);
  }
  return { element, put: (asked, canAsk) => {
    if (asked?.id === shown) return;
    shown = asked?.id;
    element.hidden = !asked;
    if (asked && canAsk === false) element.replaceChildren(el("p", {}, "The run asks in its own terminal: ", bounded(asked.text, 600)));
    else if (asked) build(asked);
  } };
}
