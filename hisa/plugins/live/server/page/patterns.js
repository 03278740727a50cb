// The pattern store: search, edit, history, the runs it came from, remove, export.

import { ask, get, path, send } from "./api.js";
import { bounded, chip, clock, el, facts, known, say, setText, sure } from "./dom.js";

const EDITED = { lesson: "Lesson", condition: "When", actions: "Actions", expected: "Expected" };
const runLink = (id) => el("a", { class: "link", href: `#/run/${encodeURIComponent(id)}` }, bounded(id, 80));

async function one(root, id, signal) {
  const answer = await get(path("patterns", id), signal), pattern = answer.pattern ?? answer;
  const line = el("p", { class: "note calm", role: "status", hidden: true });
  const tell = (text, bad) => { setText(line, text); line.className = `note ${bad ? "bad" : "good"}`; line.hidden = false; };
  const inputs = Object.fromEntries(Object.keys(EDITED).map((name) => {
    const input = el("textarea", { id: `p-${name}`, rows: name === "lesson" ? 3 : 2, maxlength: 4000 });
    input.value = pattern[name] ?? "";
    return [name, input];
  }));
  const save = async (event) => {
    event.preventDefault();
    const changed = Object.fromEntries(Object.entries(inputs).filter(([name, input]) => input.value !== (pattern[name] ?? "")).map(([name, input]) => [name, input.value]));
    try { Object.assign(pattern, changed, await send(path("patterns", id), changed, "PATCH")); tell("Saved."); } catch (error) { tell(error.message, true); }
  };
  const remove = async () => {
    if (!(await sure("Remove this pattern? It is no longer given as advice.", "Remove"))) return;
    try { await send(path("patterns", id), undefined, "DELETE"); location.hash = "#/patterns"; } catch (error) { tell(error.message, true); }
  };
  const sources = answer.runs ?? answer.source_runs ?? [pattern.source_run].filter(Boolean);
  root.append(el("form", { class: "card stack", onsubmit: save }, el("p", { class: "badges" }, chip(pattern.kind), chip(pattern.status ?? "active"), pattern.domain && chip("", pattern.domain)),
    Object.entries(EDITED).map(([name, text]) => [el("label", { for: `p-${name}` }, text), inputs[name]]),
    el("div", { class: "row" }, el("button", { class: "primary" }, "Save"), el("button", { type: "button", class: "danger", onclick: remove }, "Remove"), line)),
  el("section", { class: "card" }, el("h2", {}, "Where it comes from"), sources.length ? el("ul", {}, sources.slice(0, 100).map((run) => el("li", {}, runLink(run.id ?? run)))) : el("p", { class: "muted" }, "No run is named."),
    facts({ history: answer.history?.map((entry) => (typeof entry === "string" ? { change: entry } : entry)) }), facts(pattern, ["history", "runs", "source_runs", "source_run", ...Object.keys(EDITED)])));
}

export async function show(root, [id], signal) {
  if (id) return one(root, id, signal);
  const rows = el("ul", { class: "patterns" }), sum = el("span", { class: "muted small", role: "status" });
  const query = el("input", { id: "query", type: "search", maxlength: 300, placeholder: "a task, or words of a lesson" });
  const search = async () => {
    const { patterns } = await get(`/api/patterns${query.value ? `?q=${encodeURIComponent(query.value)}` : ""}`, signal);
    setText(sum, `${patterns.length} patterns`);
    rows.replaceChildren(...patterns.slice(0, 500).map((pattern) => el("li", {}, chip(pattern.kind === "failure" ? "failed" : pattern.kind, pattern.kind), " ",
      el("a", { href: `#/patterns/${encodeURIComponent(pattern.id)}`, class: "lesson" }, bounded(pattern.lesson, 400)),
      el("span", { class: "muted small" }, ` ${[pattern.domain, pattern.condition, known(pattern.uses) && `used ${pattern.uses}×`].filter(Boolean).map((text) => bounded(text, 120)).join(" · ")}`))));
  };
  const download = async () => {
    const blob = await (await ask("/api/patterns/export", { signal })).blob(), address = URL.createObjectURL(blob);
    el("a", { href: address, download: "patterns.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    say("Exported");
  };
  root.append(el("form", { class: "row", role: "search", onsubmit: (event) => { event.preventDefault(); search(); } }, el("label", { for: "query" }, "Search"), query, el("button", {}, "Search"), el("button", { type: "button", onclick: download }, "Export"), sum),
    el("section", { class: "card" }, rows));
  await search();
}
