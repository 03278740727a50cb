// The report's own steps within this page: ids made unique, styles set by script (the policy allows
// no style attributes), pictures fetched with the token once they are seen.

import { ask, picture } from "./api.js";
import { el } from "./dom.js";

const STYLES = new Set(["left", "top", "width", "height", "aspect-ratio", "grid-column", "grid-template-columns"]);
const UNWANTED = "script, style, link, meta, iframe, object, embed, base, form, audio, video";
let chunks = 0;

function clean(node, prefix) {
  const style = node.getAttribute("data-style"), source = node.getAttribute("src") ?? node.getAttribute("href");
  for (const { name, value } of [...node.attributes]) {
    if (name.startsWith("on") || name === "data-style" || name === "src") node.removeAttribute(name);
    else if (["id", "for", "name"].includes(name)) node.setAttribute(name, prefix + value);
  }
  if (source?.startsWith("#")) node.setAttribute("href", `#${prefix}${source.slice(1)}`);
  else if (source) node.removeAttribute("href");
  if (source?.startsWith("/api/runs/")) node.dataset.picture = source;
  for (const part of (style ?? "").split(";")) {
    const [name, value] = part.split(":").map((text) => text.trim());
    if (STYLES.has(name)) node.style.setProperty(name, value);
  }
}

export async function fetchSteps(id, after, signal) {
  const response = await ask(`/api/runs/${encodeURIComponent(id)}/view?after=${after}`, { signal });
  const html = (await response.text()).replaceAll(' style="', ' data-style="'); // in texts a quote is escaped
  const page = new DOMParser().parseFromString(html, "text/html");
  const prefix = `c${++chunks}-`;
  page.querySelectorAll(UNWANTED).forEach((node) => node.remove());
  page.body.querySelectorAll("*").forEach((node) => clean(node, prefix));
  return [...page.body.children];
}

export const stepNumber = (node) => Number(node.querySelector?.(".step .number, header .number")?.textContent ?? NaN);

function zoom(shot) {
  const copy = shot.cloneNode(true), box = copy.querySelector("svg")?.viewBox.baseVal;
  if (box) copy.style.setProperty("--ratio", box.width / box.height);
  copy.removeAttribute("tabindex");
  const dialog = el("dialog", { "aria-label": "picture", onclick: () => dialog.close(), onclose: () => dialog.remove() },
    copy, el("p", {}, `${shot.dataset.label ?? ""}  (Esc closes)`));
  document.body.append(dialog);
  dialog.showModal();
}

// Loads the pictures of what is added to `container` as it is scrolled to, and enlarges them on click.
export function watchSteps(container, signal) {
  const fetched = new Set();
  const load = async (holder) => {
    const used = [...holder.querySelectorAll("use")].map((use) => document.getElementById(use.getAttribute("href").slice(1)));
    const images = [holder, ...holder.querySelectorAll("[data-picture]"), ...used].filter((image) => image?.dataset.picture);
    for (const image of images) {
      const { picture: address } = image.dataset;
      delete image.dataset.picture;
      const blob = await picture(address, signal).catch(() => null);
      if (blob) fetched.add(blob) && image.setAttribute(image.tagName === "IMG" ? "src" : "href", blob);
      else holder.classList.add("missing");
    }
  };
  const seen = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
    seen.unobserve(target);
    load(target);
  }), { rootMargin: "400px" });
  const open = (event) => {
    const shot = event.target.closest?.(".view .shot:not(.missing)");
    if (shot && (event.type === "click" || event.key === "Enter")) zoom(shot);
  };
  ["click", "keydown"].forEach((type) => container.addEventListener(type, open));
  signal.addEventListener("abort", () => { seen.disconnect(); fetched.forEach((blob) => URL.revokeObjectURL(blob)); });
  return (nodes) => nodes.forEach((node) => node.querySelectorAll(".shot, img[data-picture]").forEach((shot) => seen.observe(shot)));
}
