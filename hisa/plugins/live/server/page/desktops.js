// Every desktop as a tile: only what changed is updated, only what is visible is loaded.
import { get, path, picture, putPicture, wait } from "./api.js";
import { el, known, money, say, setClass, setText, tone } from "./dom.js";
const AT_ONCE = 6, EVERY = 1000; // milliseconds between two looks at what there is

function newTile(id) {
  const image = el("img", { alt: "", decoding: "async" }), title = el("b", { class: "tile-title" }), state = el("span"), step = el("span"), cost = el("span");
  const link = el("a", { class: "tile" }, el("span", { class: "frame" }, image), title, el("span", { class: "tile-line" }, state, step, cost));
  return { id, image, title, state, step, cost, link, element: el("li", {}, link) };
}

function putTile(tile, data) {
  const texts = { title: data.instruction || data.task, state: String(data.state).replaceAll("_", " "),
    step: known(data.step) ? `step ${data.step}` : "", cost: known(data.usd) ? money(data.usd) : "" };
  Object.entries(texts).forEach(([name, text]) => setText(tile[name], text, name === "title" ? 160 : 40));
  setClass(tile.state, `chip ${tone(data.state)}`);
  const address = `#/run/${encodeURIComponent(data.id)}`;
  if (tile.link.getAttribute("href") !== address) tile.link.setAttribute("href", address);
  tile.wanted = data.hash ?? "";
}
// Loads the pictures of visible tiles whose hash changed, a few at once.
function pictureLoader(signal) {
  const tiles = new WeakMap(), queue = new Set();
  let busy = 0;
  const want = (tile) => { if (tile.visible && tile.wanted && tile.wanted !== tile.shown && !tile.loading) queue.add(tile); pump(); };
  const pump = () => {
    for (const tile of queue) { if (busy >= AT_ONCE || document.hidden || signal.aborted) return; queue.delete(tile); if (tile.visible) load(tile); }
  };
  const load = async (tile) => {
    const hash = tile.wanted;
    [busy, tile.loading] = [busy + 1, true];
    const address = await picture(path("runs", tile.id, "picture", hash), signal).catch(() => undefined);
    if (address) putPicture(tile.image, address);
    [busy, tile.loading] = [busy - 1, false];
    if (address === undefined) return pump(); // asked for again when the tile changes
    tile.shown = hash;
    want(tile);
  };
  const watcher = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
    tiles.get(target).visible = isIntersecting;
    want(tiles.get(target));
  }), { rootMargin: "100px" });
  document.addEventListener("visibilitychange", pump, { signal });
  signal.addEventListener("abort", () => watcher.disconnect());
  return { want, watch: (tile) => { tiles.set(tile.element, tile); watcher.observe(tile.element); }, drop: (tile) => watcher.unobserve(tile.element) };
}

async function keepFresh(put, signal) {
  while (!signal.aborted) {
    await wait(EVERY, signal);
    const data = document.hidden || signal.aborted ? null : await get("/api/desktops", signal).catch(() => null);
    if (data) put(data);
  }
}
export async function show(root, _, signal) {
  const grid = el("ul", { class: "grid", "aria-label": "Desktops" });
  const summary = el("p", { class: "muted", role: "status" }, "Loading…"), tiles = new Map(), pictures = pictureLoader(signal);
  const add = (id) => { const tile = newTile(id); grid.append(tile.element); pictures.watch(tile); return tiles.set(id, tile).get(id); };
  const remove = (id) => {
    const tile = tiles.get(id);
    if (!tile || !tiles.delete(id)) return;
    pictures.drop(tile);
    tile.element.remove();
    URL.revokeObjectURL(tile.image.src);
  };
  const put = (data) => {
    for (const item of data.runs) { const tile = tiles.get(item.id) ?? add(item.id); putTile(tile, item); pictures.want(tile); }
    const present = new Set(data.runs.map((item) => item.id));
    [...tiles.keys()].filter((id) => !present.has(id)).forEach(remove);
    setText(summary, tiles.size ? `${tiles.size} ${tiles.size === 1 ? "desktop" : "desktops"}` : "No desktop is running. Start a run with hisa run.");
  };
  root.append(summary, grid);
  put(await get("/api/desktops", signal));
  say(summary.textContent);
  keepFresh(put, signal);
}
