// Benches: how far they are and what they show, and two of them side by side.

import { get, path, wait } from "./api.js";
import { bounded, chip, count, duration, el, facts, interval, known, meter, money, setText, share } from "./dom.js";

const link = (...ids) => `#/benches/${ids.map(encodeURIComponent).join("/")}`;
const first = (...values) => values.find(known);

// The same figures, whichever way a bench gives them.
function figures(bench) {
  const sums = { ...bench, ...(bench.summary ?? {}), ...(bench.progress ?? {}) }, estimate = bench.success ?? bench.rate ?? bench.interval ?? {};
  const whole = first(sums.slots, sums.total, sums.tasks), done = first(sums.done, known(sums.missing) ? whole - sums.missing : sums.scored);
  const rate = typeof estimate === "number" ? estimate : estimate.value;
  return { done, whole, rate, low: first(estimate.low, bench.low), high: first(estimate.high, bench.high), n: first(estimate.n, sums.scored) };
}

function card(bench, choose) {
  const { done, whole, rate, low, high, n } = figures(bench);
  const box = choose && el("input", { type: "checkbox", "aria-label": `choose bench ${bench.id}`, onchange: choose, value: bench.id });
  return el("li", { class: "card bench" },
    el("h2", {}, box, el("a", { href: link(bench.id) }, bounded(bench.name || bench.id, 120)), known(bench.state) && chip(bench.state)),
    el("p", { class: "line" }, meter(done ?? 0, whole ?? 1, "progress"), el("span", {}, `${count(done)} of ${count(whole)} made`)),
    el("p", { class: "line" }, interval(rate, low, high), el("span", {}, known(rate) ? `${share(rate)} of ${count(n)} scored` : "nothing scored yet"), known(low) && el("span", { class: "muted" }, `95%: ${share(low)} to ${share(high)}`)),
    el("p", { class: "muted small" }, [known(bench.usd) && money(bench.usd), known(bench.seconds) && duration(bench.seconds), bench.suite].filter(Boolean).join(" · ")));
}

async function list(root, signal) {
  const chosen = new Set(), cards = el("ul", { class: "cards" }), empty = el("p", { class: "muted" });
  const beside = el("button", { disabled: true, onclick: () => (location.hash = link(...chosen)) }, "Side by side");
  const choose = ({ target }) => { target.checked ? chosen.add(target.value) : chosen.delete(target.value); beside.disabled = chosen.size !== 2; };
  root.append(el("div", { class: "row" }, beside, el("span", { class: "muted small" }, "choose two benches")), empty, cards);
  const rows = new Map();
  while (!signal.aborted) {
    const { benches } = await get("/api/benches", signal);
    setText(empty, benches.length ? "" : "No bench yet. Begin one with hisa bench run.");
    for (const bench of benches) {
      const row = rows.get(bench.id) ?? {}, text = JSON.stringify(bench);
      if (row.text === text) continue;
      const fresh = card(bench, choose);
      fresh.querySelector("input").checked = chosen.has(bench.id);
      row.element ? row.element.replaceWith(fresh) : cards.append(fresh);
      rows.set(bench.id, { text, element: fresh });
    }
    await wait(5000, signal);
  }
}

export async function show(root, [one, two], signal) {
  if (!one) return list(root, signal);
  root.querySelector("h1").textContent = two ? "Two benches" : bounded(one, 120);
  const found = await Promise.all([one, two].filter(Boolean).map((id) => get(path("benches", id), signal)));
  const known_ = ["id", "name", "state", "success", "summary", "progress", "rate", "interval", "low", "high"];
  root.append(el("ul", { class: "cards" }, found.map((bench) => card(bench))));
  if (two) root.append(el("section", { class: "card" }, el("h2", {}, "Compared"), facts(await get(`/api/benches/compare?a=${encodeURIComponent(one)}&b=${encodeURIComponent(two)}`, signal), ["a", "b"])));
  found.forEach((bench) => root.append(el("section", { class: "card" }, two && el("h2", {}, bounded(bench.name || bench.id, 120)), facts(bench, known_))));
}
