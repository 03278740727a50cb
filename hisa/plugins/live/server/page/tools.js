// The tools there are, what the policy says of them, and what was asked and decided.

import { get } from "./api.js";
import { el, facts } from "./dom.js";

export async function show(root, _, signal) {
  const answer = await get("/api/tools", signal);
  for (const [name, value] of Object.entries(answer)) {
    const empty = Array.isArray(value) && !value.length;
    root.append(el("section", { class: "card" }, el("h2", {}, name.replaceAll("_", " ")), empty ? el("p", { class: "muted" }, "Nothing yet.")
      : Array.isArray(value) || typeof value !== "object" ? facts({ [name]: value }) : facts(value)));
  }
}
