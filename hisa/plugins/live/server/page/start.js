// The form that starts a run.
import { send } from "./api.js";
import { el, setText } from "./dom.js";
const FIELDS = { model: ["Model", "text", "as in the settings"], env: ["Environment", "text", "as in the settings"],
  max_steps: ["Most steps", "number", "as in the settings"], budget_usd: ["Budget in $", "number", "none"] };
export async function show(root) {
  const task = el("textarea", { id: "task", required: true, rows: 4, maxlength: 20000 }), wrong = el("p", { class: "note bad", role: "alert", hidden: true });
  const inputs = Object.entries(FIELDS).map(([id, [, type, placeholder]]) => el("input", { id, type, placeholder, maxlength: 200, min: 0, step: id === "budget_usd" ? "any" : 1, autocomplete: "off" }));
  const go = el("button", { class: "primary" }, "Start");
  const start = async (event) => {
    event.preventDefault();
    const options = Object.fromEntries(inputs.filter((input) => input.value).map((input) => [input.id, input.type === "number" ? Number(input.value) : input.value]));
    go.disabled = wrong.hidden = true;
    setText(go, "Starting…");
    try {
      location.hash = `#/run/${encodeURIComponent((await send("/api/runs", { task: task.value, options })).id)}`;
    } catch (error) { setText(go, "Start"); setText(wrong, error.message); wrong.hidden = go.disabled = false; }
  };
  root.append(el("form", { class: "card narrow stack", onsubmit: start }, el("label", { for: "task" }, "What is to be done, or a task file's name"), task,
    el("div", { class: "fields" }, inputs.map((input) => el("div", {}, el("label", { for: input.id }, FIELDS[input.id][0]), input))), wrong, go));
}
