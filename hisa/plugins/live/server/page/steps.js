// The report's own steps within this page: ids are made unique, styles are set by script (the security policy
// allows no style attributes), pictures are fetched with the token once they are scrolled to.
import { ask, picture } from "./api.js";
import { el, openDialog } from "./dom.js";
const STYLES = new Set(["left", "top", "width", "height", "aspect-ratio", "grid-column", "grid-template-columns"]);
let pieces = 0;
function clean(node, prefix) {
  const style = node.dataset.style ?? "", source = node.getAttribute("src") ?? node.getAttribute("href") ?? "";
  for (const { name, value } of [...node.attributes]) {
    if (name.startsWith("on") || ["data-style", "src", "href"].includes(name)) node.removeAttribute(name);
    else if (["id", "for", "name"].includes(name)) node.setAttribute(name, prefix + value);
  }
  if (source.startsWith("#")) node.setAttribute("href", `#${prefix}${source.slice(1)}`);
  else if (source.startsWith("/api/runs/")) node.dataset.picture = source;
  for (const [name, value] of style.split(";").map((part) => part.split(":"))) if (STYLES.has(name.trim())) node.style.setProperty(name.trim(), value);
}
export async function fetchSteps(id, after, signal) {
  const text = await (await ask(`/api/runs/${encodeURIComponent(id)}/view?after=${after}`, { signal })).text(), prefix = `c${++pieces}-`;
  const { body } = new DOMParser().parseFromString(text.replaceAll(' style="', ' data-style="'), "text/html"); // a quote in a text is escaped
  body.querySelectorAll("script, style, link, meta, iframe, object, embed, base, form").forEach((node) => node.remove());
  body.querySelectorAll("*").forEach((node) => clean(node, prefix));
  return [...body.children];
}
export const stepNumber = (node) => Number(node.querySelector("header .number")?.textContent ?? NaN);
function zoom(shot) {
  const copy = shot.cloneNode(true), box = copy.querySelector("svg")?.viewBox.baseVal;
  if (box) copy.style.setProperty("--ratio", box.width / box.height);
  copy.removeAttribute("tabindex");
  const dialog = openDialog({ "aria-label": "picture", onclick: () => dialog.close() }, copy, el("p", {}, `${shot.dataset.label ?? ""}  (Esc closes)`), el("button", { class: "unseen" }, "Close"));
}
// Loads the pictures of given nodes as they come into view, and enlarges those of `container` on click.
export function watchSteps(container, signal) {
  const blobs = new Map(); // by address: a step that is fetched again has mostly the same pictures
  const load = async (holder) => {
    const used = [...holder.querySelectorAll("use")].map((use) => document.getElementById(use.getAttribute("href").slice(1)));
    for (const image of [holder, ...holder.querySelectorAll("[data-picture]"), ...used].filter((node) => node?.dataset.picture)) {
      const address = image.dataset.picture;
      if (!blobs.has(address)) blobs.set(address, picture(address, signal).catch(() => ""));
      image.setAttribute(image.tagName === "IMG" ? "src" : "href", await blobs.get(address));
    }
  };
  const seen = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
    seen.unobserve(target);
    load(target);
  }), { rootMargin: "400px" });
  for (const type of ["click", "keydown"]) container.addEventListener(type, (event) => {
    const shot = event.target.closest(".view .shot:not(.missing)");
    if (shot && (type === "click" || event.key === "Enter")) zoom(shot);
  });
  signal.addEventListener("abort", () => { seen.disconnect(); blobs.forEach(async (blob) => URL.revokeObjectURL(await blob)); });
  return (nodes) => nodes.forEach((node) => node.querySelectorAll(".shot, img[data-picture]").forEach((shot) => seen.observe(shot)));
}
