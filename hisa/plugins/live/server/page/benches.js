// Benches: how far they are and what they show.
import { get, path, wait } from "./api.js";
import { bounded, chip, clock, count, el, facts, interval, known, meter, setText, share } from "./dom.js";
const link = (id) => `#/benches/${encodeURIComponent(id)}`;
// A success rate with its 95% interval over tasks, of a bench or of one of its variants.
const rateLine = ({ rate, low, high, rated }, name) => el("p", { class: "line" }, interval({ value: rate, low, high }), name && el("b", {}, bounded(name, 80)),
  known(rate) ? [`${share(rate)} of ${count(rated)} tasks`, el("span", { class: "muted" }, `95%: ${share(low)} to ${share(high)}`)] : "nothing scored yet");
function card(bench) {
  const made = bench.slots - bench.missing, about = [bench.suite, ...(bench.variants ?? []), clock(bench.started)].join(" · ");
  return el("li", { class: "card bench" }, el("h2", {}, el("a", { href: link(bench.id) }, bounded(bench.id, 120)), bench.running && chip("running")),
    bench.error ? el("p", { class: "note bad" }, bounded(bench.error, 300)) : [el("p", { class: "line" }, meter(made, bench.slots, "progress"), `${count(made)} of ${count(bench.slots)} made, ${count(bench.scored)} scored`),
      rateLine(bench), el("p", { class: "muted small" }, bounded(about, 300))]);
}
async function list(root, signal) {
  const cards = el("ul", { class: "cards" }), empty = el("p", { class: "muted" }), rows = new Map();
  root.append(empty, cards);
  while (!signal.aborted) {
    const { benches } = await get("/api/benches", signal);
    setText(empty, benches.length ? "" : "No bench yet. Begin one with hisa bench run.");
    for (const bench of benches) {
      const row = rows.get(bench.id) ?? {}, text = JSON.stringify(bench);
      if (row.text === text) continue;
      const fresh = card(bench);
      row.element ? row.element.replaceWith(fresh) : cards.append(fresh);
      rows.set(bench.id, Object.assign(row, { text, element: fresh }));
    }
    await wait(5000, signal);
  }
}
export async function show(root, [id], signal) {
  if (!id) return list(root, signal);
  setText(root.querySelector("h1"), id, 200);
  const report = await get(path("benches", id), signal), { progress, variants = [], comparisons = [] } = report;
  root.append(el("ul", { class: "cards" }, card(progress)), el("section", { class: "card" }, el("h2", {}, "Report"), variants.map((group) => rateLine(group, group.name)),
    facts({ comparisons, ...report }, ["v", "counting", "curves", "folder", "main", "progress"])));
}
