// The pattern store: search, edit, history, the runs it came from, remove, export.
import { ask, get, path, send } from "./api.js";
import { bounded, chip, el, facts, known, runLink, say, setClass, setText, sure, table } from "./dom.js";
const EDITED = { lesson: "Lesson", condition: "When", actions: "Actions", expected: "Expected" };
const link = (id) => `#/patterns/${encodeURIComponent(id)}`, kind = (pattern) => chip(pattern.kind);
async function one(root, id, signal) {
  const { pattern, history = [], source_runs: sources = [] } = await get(path("patterns", id), signal), line = el("p", { class: "note", role: "status", hidden: true });
  const inputs = Object.keys(EDITED).map((name) => el("textarea", { id: `p-${name}`, name, rows: name === "lesson" ? 3 : 2, maxlength: 4000 }, pattern[name]));
  const attempt = async (work) => { try { await work(); } catch (error) { setText(line, error.message); setClass(line, "note bad"); line.hidden = false; } };
  const save = (event) => attempt(event.preventDefault() ?? (async () => {
    const changed = Object.fromEntries(inputs.filter((input) => input.value !== (pattern[input.name] ?? "")).map((input) => [input.name, input.value]));
    location.hash = link((await send(path("patterns", id), changed, "PATCH")).pattern.id); // the old words stay, in the history
    say("Saved");
  }));
  const remove = () => attempt(async () => {
    if (!(await sure("Remove this pattern? It is no longer given as advice.", "Remove"))) return;
    await send(path("patterns", id), undefined, "DELETE");
    location.hash = "#/patterns";
  });
  const active = pattern.status === "active", buttons = [el("button", { class: "primary" }, "Save"), el("button", { type: "button", class: "danger", onclick: remove }, "Remove")];
  setText(root.querySelector("h1"), "Pattern");
  root.append(el("form", { class: "card stack", onsubmit: save }, el("p", { class: "badges" }, kind(pattern), chip(pattern.status), pattern.domain && chip(pattern.domain)),
    inputs.map((input) => [el("label", { for: input.id }, EDITED[input.name]), input]), el("div", { class: "row" }, active && buttons, line)),
  el("section", { class: "card" }, el("h2", {}, "Where it comes from"), el("p", {}, sources.length ? sources.slice(0, 100).map((run) => [runLink(run), " "]) : "No run is named."),
    history.length > 1 && [el("h3", {}, "history, oldest first"), table(history, "history", ["created_at", "status", "lesson", "condition", "source_run", "uses", "wins"])], facts(pattern, ["source_run", "embedder", ...Object.keys(EDITED)])));
}
export async function show(root, [id], signal) {
  if (id) return one(root, id, signal);
  const rows = el("ul", { class: "patterns" }), sum = el("span", { class: "muted small", role: "status" }), query = el("input", { id: "query", type: "search", maxlength: 300, placeholder: "a task, or words of a lesson" });
  const row = (pattern) => el("li", {}, kind(pattern), " ", el("a", { href: link(pattern.id), class: "lesson" }, bounded(pattern.lesson, 400)),
    el("span", { class: "muted small" }, ` ${[pattern.domain, pattern.condition, known(pattern.uses) && `used ${pattern.uses}×`].filter(Boolean).map((text) => bounded(text, 120)).join(" · ")}`));
  const search = async (event) => {
    event?.preventDefault();
    const { patterns } = await get(`/api/patterns?limit=200&q=${encodeURIComponent(query.value)}`, signal).catch((error) => (event ? { patterns: [], error: setText(sum, error.message) } : Promise.reject(error)));
    setText(sum, patterns.length === 1 ? "1 pattern" : `${patterns.length} patterns`);
    rows.replaceChildren(...patterns.slice(0, 500).map(row));
  };
  const download = async () => {
    const address = URL.createObjectURL(await (await ask("/api/patterns/export", { signal })).blob());
    el("a", { href: address, download: "patterns.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  root.append(el("form", { class: "row", role: "search", onsubmit: search }, el("label", { for: "query" }, "Search"), query, el("button", {}, "Search"), el("button", { type: "button", onclick: download }, "Export"), sum), el("section", { class: "card" }, rows));
  await search();
}
