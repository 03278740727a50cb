// The list of runs; two of them can be chosen and shown side by side.

import { get, wait } from "./api.js";
import { bounded, chip, clock, duration, el, money, say, setText, short } from "./dom.js";

const PAGE = 100;

function cells(run) {
  const steps = run.max_steps ? `${run.step ?? 0} of ${run.max_steps}` : run.step;
  const score = typeof run.score === "number" ? ` ${run.score.toFixed(2)}` : "";
  const outcome = run.exit_status || run.state;
  return [
    [el("a", { href: `#/run/${encodeURIComponent(run.id)}`, class: "title" }, bounded(run.instruction || run.task || run.id, 200)),
      el("span", { class: "muted small" }, bounded([run.id, run.environment, run.bench].filter(Boolean).join(" · "), 160))],
    [chip(outcome), score], steps, money(run.usd), short(run.tokens), duration(run.seconds), clock(run.started),
  ];
}

export async function show(root, _, signal) {
  const chosen = new Set(), rows = new Map();
  const body = el("tbody");
  const filter = el("input", { id: "filter", type: "search", placeholder: "task, id, model, bench", maxlength: 200 });
  const beside = el("button", { disabled: true, onclick: () => {
    location.hash = `#/compare/${[...chosen].map(encodeURIComponent).join("/")}`;
  } }, "Side by side");
  const hint = el("span", { class: "muted small" }, "choose two runs");
  const more = el("button", { hidden: true, onclick: () => load(last) }, "Older runs");
  const names = ["Run", "State", "Steps", "Cost", "Tokens", "Time", "Started"];
  let last = "";

  const choose = (id, box) => {
    box.checked ? chosen.add(id) : chosen.delete(id);
    if (chosen.size > 2) {
      const first = [...chosen][0];
      chosen.delete(first);
      rows.get(first).box.checked = false;
    }
    beside.disabled = chosen.size !== 2;
    setText(hint, chosen.size === 2 ? "two chosen" : `choose ${2 - chosen.size} more`);
  };
  const sift = () => {
    const word = filter.value.toLowerCase();
    for (const { element, text } of rows.values()) element.hidden = !text.includes(word);
  };
  const put = (run, atTop) => {
    const text = JSON.stringify(run);
    const row = rows.get(run.id) ?? { element: el("tr"), before: "" };
    if (row.before === text) return;
    row.box ??= el("input", { type: "checkbox", "aria-label": `choose run ${run.id}`, onchange: (event) => choose(run.id, event.target) });
    row.element.replaceChildren(el("td", {}, row.box), ...cells(run).map((cell, index) =>
      el("td", { "data-name": names[index] }, cell)));
    if (!rows.has(run.id)) atTop ? body.prepend(row.element) : body.append(row.element);
    rows.set(run.id, Object.assign(row, { before: text, text: text.toLowerCase() }));
  };
  const load = async (before) => {
    const query = before ? `&before=${encodeURIComponent(before)}` : "";
    const { runs } = await get(`/api/runs?limit=${PAGE}${query}`, signal);
    const fresh = before || !rows.size ? runs : [...runs].reverse();
    fresh.forEach((run) => put(run, !before && rows.size > 0 && fresh !== runs));
    if (before || !last) {
      last = runs.at(-1)?.id ?? last;
      more.hidden = runs.length < PAGE;
    }
    sift();
  };

  filter.addEventListener("input", sift);
  root.append(
    el("div", { class: "row" }, el("label", { for: "filter" }, "Find"), filter, beside, hint),
    el("table", { class: "runs" }, el("thead", {}, el("tr", {}, el("th", {}, el("span", { class: "unseen" }, "choose")),
      names.map((name) => el("th", { scope: "col" }, name)))), body), more);
  await load("");
  if (!rows.size) root.append(el("p", { class: "muted" }, "No run yet. ", el("a", { href: "#/start", class: "link" }, "Start one")));
  say(`${rows.size} runs`);
  while (!signal.aborted) {
    await wait(5000, signal);
    if (!document.hidden && !signal.aborted) await load("").catch(() => {});
  }
}
