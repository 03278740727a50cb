// The list of runs.
import { get, wait } from "./api.js";
import { bounded, chip, clock, duration, el, money, runLink, say, short } from "./dom.js";
const PAGE = 100, NAMES = ["Run", "State", "Steps", "Cost", "Tokens", "Time", "Started"];
const cells = (run) => [
  [runLink(run.id, run.instruction || run.task || run.id, "title"), el("span", { class: "muted small" }, bounded([run.id, run.environment, run.bench].filter(Boolean).join(" · "), 160))],
  [chip(run.exit_status || run.state), typeof run.score === "number" && ` ${run.score.toFixed(2)}`],
  run.max_steps ? `${run.step ?? 0} of ${run.max_steps}` : run.step, money(run.usd), short(run.tokens), duration(run.seconds), clock(run.started) ];
export async function show(root, _, signal) {
  const rows = new Map(), body = el("tbody"), filter = el("input", { id: "filter", type: "search", placeholder: "task, id, model, bench", maxlength: 200 });
  const more = el("button", { hidden: true, onclick: () => load(last) }, "Older runs");
  let last = "";
  const sift = () => rows.forEach(({ element, text }) => (element.hidden = !text.toLowerCase().includes(filter.value.toLowerCase())));
  const put = (run, newest) => {
    const text = JSON.stringify(run), row = rows.get(run.id) ?? { element: el("tr") };
    if (row.text === text) return;
    row.element.replaceChildren(...cells(run).map((cell, index) => el("td", { "data-name": NAMES[index] }, cell)));
    if (!row.text) newest ? body.prepend(row.element) : body.append(row.element);
    rows.set(run.id, Object.assign(row, { text }));
  };
  const load = async (before = "") => {
    const { runs } = await get(`/api/runs?limit=${PAGE}${before && `&before=${encodeURIComponent(before)}`}`, signal), newest = !before && rows.size > 0;
    (newest ? runs.reverse() : runs).forEach((run) => put(run, newest));
    if (newest) return sift();
    [last, more.hidden] = [runs.at(-1)?.id, runs.length < PAGE];
    sift();
  };
  filter.addEventListener("input", sift);
  root.append(el("div", { class: "row" }, el("label", { for: "filter" }, "Find"), filter),
    el("table", { class: "runs" }, el("thead", {}, el("tr", {}, NAMES.map((name) => el("th", { scope: "col" }, name)))), body), more);
  await load();
  if (!rows.size) root.append(el("p", { class: "muted" }, "No run yet. Start one with hisa run."));
  say(`${rows.size} runs`);
  while (!signal.aborted) { await wait(5000, signal); if (!document.hidden && !signal.aborted) await load().catch(() => {}); }
}
