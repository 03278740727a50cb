// The form that starts a run.

import { send } from "./api.js";
import { el, say } from "./dom.js";

export async function show(root) {
  const task = el("textarea", { id: "task", required: true, rows: 4, maxlength: 20000 });
  const field = (id, text, type, hint, more = {}) => {
    const input = el("input", { id, type, placeholder: hint, maxlength: 200, autocomplete: "off", ...more });
    return [input, el("div", {}, el("label", { for: id }, text), input)];
  };
  const [model, modelField] = field("model", "Model", "text", "as in the settings");
  const [env, envField] = field("env", "Environment", "text", "as in the settings");
  const [steps, stepsField] = field("max_steps", "Most steps", "number", "as in the settings", { min: 1, max: 10000 });
  const [budget, budgetField] = field("budget_usd", "Budget in $", "number", "none", { min: 0, step: "any" });
  const wrong = el("p", { class: "note bad", role: "alert", hidden: true });
  const go = el("button", { class: "primary" }, "Start");
  const start = async (event) => {
    event.preventDefault();
    const options = { model: model.value, env: env.value, max_steps: steps.value && Number(steps.value),
      budget_usd: budget.value && Number(budget.value) };
    const filled = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== ""));
    go.disabled = wrong.hidden = true;
    say("Starting the run");
    try {
      const { id } = await send("/api/runs", { task: task.value, options: filled });
      location.hash = `#/run/${encodeURIComponent(id)}`;
    } catch (error) {
      wrong.textContent = error.message;
      wrong.hidden = go.disabled = false;
    }
  };
  root.append(el("form", { class: "card narrow stack", onsubmit: start },
    el("label", { for: "task" }, "What is to be done, or a task file's name"), task,
    el("div", { class: "fields" }, modelField, envField, stepsField, budgetField), wrong, go));
}
