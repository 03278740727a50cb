// Takes the token out of the address, then shows the view that the fragment names.

import { keepToken, onRefused, token, linkState } from "./api.js";
import { el, say } from "./dom.js";

if (keepToken(location.hash)) history.replaceState(null, "", location.pathname + "#/desktops");

const VIEWS = {
  desktops: ["Desktops", () => import("./desktops.js")],
  runs: ["Runs", () => import("./runs.js")],
  run: ["Run", () => import("./run.js")],
  compare: ["Two runs", () => import("./compare.js")],
  start: ["Start a run", () => import("./start.js")],
  benches: ["Benches", () => import("./benches.js")],
  patterns: ["Patterns", () => import("./patterns.js")],
  tools: ["Tools and policy", () => import("./tools.js")],
};
const view = document.getElementById("view");
let leave = new AbortController();

function askForToken(restarted) {
  leave.abort();
  linkState("refused");
  const field = el("input", { id: "token", name: "token", autocomplete: "off", type: "password", required: true });
  const wrong = el("p", { class: "bad note", role: "alert", hidden: true }, "That is no token.");
  const take = (event) => {
    event.preventDefault();
    wrong.hidden = keepToken(field.value);
    if (wrong.hidden) show();
  };
  const why = restarted
    ? "The server was started anew. A token lives as long as its server, so this page needs the new one."
    : "This page needs the token of the server.";
  view.replaceChildren(el("section", { class: "card narrow" },
    el("h1", { tabindex: -1 }, restarted ? "The server was restarted" : "Token needed"),
    el("p", {}, why),
    el("p", {}, "The terminal in which ", el("code", {}, "hisa serve"), " runs shows an address that ends in ",
      el("code", {}, "#token=…"), ". Open that address, or paste it here."),
    el("form", { class: "row", onsubmit: take }, el("label", { for: "token" }, "Address or token"), field,
      el("button", { class: "primary" }, "Open")), wrong));
  document.title = "Token needed – HiSA";
  view.querySelector("h1").focus();
}

async function show() {
  if (keepToken(location.hash)) history.replaceState(null, "", location.pathname + "#/desktops");
  if (!location.hash.startsWith("#/") && location.hash) return;
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const [name = "desktops", ...args] = location.hash.slice(2).split("/").map((part) => {
    try { return decodeURIComponent(part) || undefined; } catch { return part; }
  });
  const [title, load] = VIEWS[Object.hasOwn(VIEWS, name) ? name : "desktops"];
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.hash === `#/${name === "run" || name === "compare" ? "runs" : name}`;
    here ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  if (!token()) return askForToken(false);
  document.title = `${title} – HiSA`;
  const heading = el("h1", { tabindex: -1 }, title);
  const root = el("div", { class: `view-${name}` }, heading);
  view.replaceChildren(root);
  scrollTo(0, 0);
  heading.focus({ preventScroll: true });
  try {
    await (await load()).show(root, args, signal);
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted || error.status === 401) return;
    root.append(el("div", { class: "note bad", role: "alert" }, `${error.message} `,
      el("button", { onclick: show }, "Try again")));
    say(error.message);
  }
}

onRefused(askForToken);
addEventListener("hashchange", show);
show();
