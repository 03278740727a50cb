// The tools there are, what the policy says of them, and what was asked and decided.
import { get } from "./api.js";
import { el, facts, table } from "./dom.js";
export async function show(root, _, signal) {
  const { runs = [], tools = [], broken = [], ...rules } = await get("/api/tools", signal);
  const of = (part, columns) => runs.flatMap((run) => (run[part] ?? []).map((entry) => ({ run: run.run, ...Object.fromEntries(columns.map((name) => [name, entry[name]])) })));
  const section = (title, rows) => el("section", { class: "card" }, el("h2", {}, title), rows.length ? table(rows, title) : el("p", { class: "muted" }, "Nothing yet."));
  root.append(section("Asked", of("confirmed", ["at", "what", "answer", "word"])), section("What people did", of("person", ["at", "did", "kind", "text", "answer", "error"])),
    section("Decided", of("decisions", ["at", "step", "tool", "what", "verdict", "rule", "by"])), section("Tools", tools), broken.length > 0 && section("Not loaded", broken));
  for (const [name, value] of Object.entries(rules)) root.append(el("section", { class: "card" }, el("h2", {}, name), facts(value)));
}
