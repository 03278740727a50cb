// Two runs side by side, step against step.

import { get, path } from "./api.js";
import { bounded, chip, duration, el, money } from "./dom.js";
import { fetchSteps, stepNumber, watchSteps } from "./steps.js";

export async function show(root, ids, signal) {
  const runs = await Promise.all(ids.slice(0, 2).map(async (id) => ({ id, record: await get(path("runs", id), signal), nodes: await fetchSteps(id, 0, signal) })));
  const grid = el("div", { class: "beside" }), watch = watchSteps(grid, signal);
  for (const [index, { id, record }] of runs.entries()) {
    grid.append(el("div", { class: "card head" }, el("span", { class: "number" }, "AB"[index]), el("div", {},
      el("a", { class: "link", href: `#/run/${encodeURIComponent(id)}` }, bounded(record.instruction || id, 200)),
      el("p", { class: "muted small" }, chip(record.exit_status || record.state), ` ${record.step ?? "–"} steps, ${duration(record.seconds)}, ${money(record.usd)}, `, el("code", {}, id)))));
  }
  const numbers = runs.map(({ nodes }) => new Map(nodes.filter((node) => stepNumber(node)).map((node) => [stepNumber(node), node])));
  const most = Math.max(0, ...numbers.flatMap((steps) => [...steps.keys()]));
  runs.forEach(({ nodes }) => grid.append(...nodes.filter((node) => node.matches(".store"))));
  for (let step = 1; step <= most; step++) {
    const pair = numbers.map((steps, index) => steps.get(step) ?? el("div", { class: "card muted none" }, `${"AB"[index]}: no step ${step}`));
    pair.forEach((node, index) => node.setAttribute("data-run", "AB"[index]));
    grid.append(...pair);
  }
  watch([...grid.children]);
  root.append(grid);
}
