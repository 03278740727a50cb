// Two runs side by side, step against step.
import { get, path } from "./api.js";
import { chip, duration, el, money, runLink } from "./dom.js";
import { fetchSteps, stepNumber, watchSteps } from "./steps.js";
export async function show(root, ids, signal) {
  const grid = el("div", { class: "beside" }), watch = watchSteps(grid, signal);
  const runs = await Promise.all(ids.slice(0, 2).map(async (id) => ({ id, record: await get(path("runs", id), signal), nodes: await fetchSteps(id, 0, signal) })));
  const steps = runs.map(({ nodes }) => new Map(nodes.filter(stepNumber).map((node) => [stepNumber(node), node]))), numbers = [...new Set(steps.flatMap((map) => [...map.keys()]))].sort((a, b) => a - b);
  runs.forEach(({ id, record, nodes }, index) => grid.append(el("div", { class: "card head" }, el("span", { class: "number" }, "AB"[index]), el("div", {}, runLink(id, record.instruction || id),
    el("p", { class: "muted small" }, chip(record.exit_status || record.state), ` ${record.step ?? "–"} steps, ${duration(record.seconds)}, ${money(record.usd)}, `, el("code", {}, id)), nodes.filter((node) => node.matches(".store"))))));
  for (const step of numbers) steps.forEach((map, index) => {
    const node = map.get(step) ?? el("div", { class: "card muted none" }, `no step ${step}`);
    node.dataset.run = "AB"[index];
    grid.append(node);
  });
  root.append(grid);
  watch([...grid.children]);
}
