// Takes the token out of the address, then shows the view that the fragment names.
import { keepToken, linkState, onRefused, token } from "./api.js";
import { el, say } from "./dom.js";
const VIEWS = { desktops: "Desktops", runs: "Runs", run: "Run" };
const view = document.getElementById("view");
let leave = new AbortController();
function askForToken(restarted) {
  leave.abort();
  linkState("refused");
  const field = el("input", { id: "token", autocomplete: "off", type: "password", required: true });
  const wrong = el("p", { class: "note bad", role: "alert", hidden: true }, "That is not a token."), heading = el("h1", { tabindex: -1 }, restarted ? "The server was restarted" : "Token needed");
  const take = (event) => { event.preventDefault(); wrong.hidden = keepToken(field.value); if (wrong.hidden) show(); };
  view.replaceChildren(el("section", { class: "card narrow" }, heading,
    el("p", {}, restarted ? "A token lives as long as its server, so this page needs the new one." : "This page needs the token of the server."),
    el("p", {}, "The terminal in which ", el("code", {}, "hisa serve"), " runs shows an address that ends in ", el("code", {}, "#token=…"), ". Open that address, or paste it here."),
    el("form", { class: "row", onsubmit: take }, el("label", { for: "token" }, "Address or token"), field, el("button", { class: "primary" }, "Open")), wrong));
  document.title = `${heading.textContent} – HiSA`;
  heading.focus();
}
function decoded(part) { try { return decodeURIComponent(part); } catch { return part; } }
async function show() {
  if (location.hash.startsWith("#token=") && keepToken(location.hash)) history.replaceState(null, "", "/#/desktops");
  leave.abort();
  const { signal } = (leave = new AbortController()), [word, ...args] = location.hash.slice(2).split("/").map(decoded);
  const name = Object.hasOwn(VIEWS, word) ? word : "desktops", place = name === "run" ? "runs" : name;
  for (const link of document.querySelectorAll("nav a")) link.ariaCurrent = link.hash === `#/${place}` ? "page" : null;
  if (!token()) return askForToken(false);
  document.title = `${VIEWS[name]} – HiSA`;
  const heading = el("h1", { tabindex: -1 }, VIEWS[name]), root = el("div", { class: `view-${name}` }, heading);
  view.replaceChildren(root);
  scrollTo(0, 0);
  heading.focus({ preventScroll: true });
  try {
    await (await import(`./${name}.js`)).show(root, args, signal);
  } catch (error) {
    if (signal.aborted || error.status === 401) return;
    root.append(el("div", { class: "note bad", role: "alert" }, `${error.message} `, el("button", { onclick: show }, "Try again")));
    say(error.message);
  }
}
// Links within the page scroll to their target and keep the address, which names the view.
document.addEventListener("click", (event) => {
  const inside = event.target.closest?.('a[href^="#"]:not([href^="#/"])'), target = inside && document.getElementById(inside.getAttribute("href").slice(1));
  if (inside) event.preventDefault();
  target?.scrollIntoView();
  target?.focus();
});
onRefused(askForToken);
addEventListener("hashchange", show);
show();
