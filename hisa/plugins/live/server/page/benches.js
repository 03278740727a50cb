// Benches: how far they are and what they show, and two of them side by side.

import { get, path, wait } from "./api.js";
import { bounded, chip, clock, count, el, facts, interval, known, meter, pairChooser, setText, share, table } from "./dom.js";

const link = (...ids) => `#/benches/${ids.map(encodeURIComponent).join("/")}`;

function card(bench, box) {
  const { slots, missing, rate, low, high, rated, scored } = bench, made = slots - missing;
  return el("li", { class: "card bench" }, el("h2", {}, box, el("a", { href: link(bench.id) }, bounded(bench.id, 120)), bench.running && chip("running")),
    bench.error ? el("p", { class: "note bad" }, bounded(bench.error, 300)) : [
      el("p", { class: "line" }, meter(made, slots, "progress"), `${count(made)} of ${count(slots)} made, ${count(scored)} scored`),
      el("p", { class: "line" }, interval({ value: rate, low, high }), known(rate) ? `${share(rate)} of ${count(rated)} tasks` : "nothing scored yet", known(rate) && el("span", { class: "muted" }, `95%: ${share(low)} to ${share(high)}`)),
      el("p", { class: "muted small" }, bounded([bench.suite, ...(bench.variants ?? []), clock(bench.started)].join(" · "), 300))]);
}

async function list(root, signal) {
  const cards = el("ul", { class: "cards" }), empty = el("p", { class: "muted" }), rows = new Map(), pair = pairChooser((ids) => link(...ids));
  root.append(el("div", { class: "row" }, pair.button, el("span", { class: "muted small" }, "choose two benches")), empty, cards);
  while (!signal.aborted) {
    const { benches } = await get("/api/benches", signal);
    setText(empty, benches.length ? "" : "No bench yet. Begin one with hisa bench run.");
    for (const bench of benches) {
      const row = rows.get(bench.id) ?? { box: pair.box(bench.id) }, text = JSON.stringify(bench);
      if (row.text === text) continue;
      const fresh = card(bench, row.box);
      row.element ? row.element.replaceWith(fresh) : cards.append(fresh);
      rows.set(bench.id, Object.assign(row, { text, element: fresh }));
    }
    await wait(5000, signal);
  }
}

function report(answer, title) {
  const rated = (answer.variants ?? []).filter((group) => known(group.success?.value ?? group.rate?.value));
  return el("section", { class: "card" }, el("h2", {}, bounded(title, 200)), rated.map((group) => {
    const rate = group.success?.value === undefined ? group.rate : group.success;
    return el("p", { class: "line" }, interval(rate), el("b", {}, bounded(group.name, 80)), `${share(rate.value)} of ${count(rate.n)}`, el("span", { class: "muted" }, `95%: ${share(rate.low)} to ${share(rate.high)}`));
  }), known(answer.comparisons) && answer.comparisons.length > 0 && [el("h3", {}, "compared"), table(answer.comparisons, "compared")], facts(answer, ["v", "counting", "comparisons", "curves", "id", "folder", "main"]));
}

export async function show(root, ids, signal) {
  const [one, two] = ids.filter(Boolean);
  if (!one) return list(root, signal);
  setText(root.querySelector("h1"), two ? `${one} and ${two}` : one, 200);
  const { benches } = await get("/api/benches", signal), query = new URLSearchParams({ a: one, b: two ?? "" });
  root.append(el("ul", { class: "cards" }, benches.filter((bench) => [one, two].includes(bench.id)).map((bench) => card(bench))));
  root.append(report(await get(two ? `/api/benches/compare?${query}` : path("benches", one), signal), two ? "Side by side, by task" : "Report"));
}
