// Every desktop as a tile: only what changed is touched, only what is visible is loaded.

import { follow, get, path, picture, putPicture } from "./api.js";
import { bounded, el, meter, money, known, say, setClass, setText, tone } from "./dom.js";

const AT_ONCE = 6;

class Tile {
  constructor(id, signal, watcher) {
    this.id = id;
    this.signal = signal;
    this.image = el("img", { alt: "", width: 320, height: 200, decoding: "async" });
    this.title = el("b", { class: "tile-title" });
    this.state = el("span");
    this.step = el("span");
    this.cost = el("span");
    this.link = el("a", { class: "tile" }, el("span", { class: "frame" }, this.image), this.title,
      el("span", { class: "tile-line" }, this.state, this.step, this.cost));
    this.element = el("li", {}, this.link);
    this.element.tile = this;
    watcher.observe(this.element);
  }

  put(data) {
    setText(this.title, data.title || data.task || data.id, 160);
    setText(this.state, String(data.state ?? data.kind).replaceAll("_", " "), 24);
    setClass(this.state, `chip ${tone(data.state)}`);
    setText(this.step, known(data.step) ? `step ${data.step}` : "", 24);
    setText(this.cost, known(data.cost) ? money(data.cost) : "", 24);
    const to = data.kind === "run" ? `#/run/${encodeURIComponent(data.id)}` : "";
    if (to && this.link.getAttribute("href") !== to) this.link.setAttribute("href", to);
    this.wanted = data.hash ?? "";
  }
}

class Pictures {
  constructor(signal) {
    this.signal = signal;
    this.queue = new Set();
    this.busy = 0;
    this.watcher = new IntersectionObserver((entries) => entries.forEach((entry) => {
      entry.target.tile.visible = entry.isIntersecting;
      this.want(entry.target.tile);
    }), { rootMargin: "100px" });
    signal.addEventListener("abort", () => this.watcher.disconnect());
  }

  want(tile) {
    if (tile.visible && tile.wanted && tile.wanted !== tile.shown && !tile.loading) this.queue.add(tile);
    this.pump();
  }

  pump() {
    for (const tile of this.queue) {
      if (this.busy >= AT_ONCE || document.hidden) return;
      this.queue.delete(tile);
      if (tile.visible) this.load(tile);
    }
  }

  async load(tile) {
    const hash = tile.wanted;
    this.busy += 1;
    tile.loading = true;
    try {
      const since = tile.shown ? `?since=${encodeURIComponent(tile.shown)}` : "";
      const address = await picture(path("tiles", tile.id) + since, this.signal);
      if (address) putPicture(tile.image, address);
      setClass(tile.link, "tile");
    } catch {
      setClass(tile.link, "tile no-picture");
    }
    tile.shown = hash;
    tile.loading = false;
    this.busy -= 1;
    this.want(tile);
  }
}

function nodeRow(node) {
  const used = (node.slots ?? 0) - (node.slots_free ?? 0);
  const gauge = (name, value, text) => [el("dt", {}, name), el("dd", {}, known(value) && meter(value, 1, `${name} ${text}`), ` ${text}`)];
  const part = (name) => {
    const value = node[name] > 1 ? node[name] / 100 : node[name];
    return gauge(name, value, known(value) ? `${Math.round(100 * value)}%` : "–");
  };
  return el("li", { class: "card node" }, el("h2", {}, bounded(node.name, 60)), el("dl", {},
    gauge("slots", used / (node.slots || 1), `${used} of ${node.slots ?? "–"} taken`),
    part("cpu"), part("memory"), part("disk"), el("dt", {}, "queue"), el("dd", {}, node.queue ?? 0)));
}

export async function show(root, _, signal) {
  const nodes = el("ul", { class: "nodes", "aria-label": "Resources by node" });
  const grid = el("ul", { class: "grid", "aria-label": "Desktops" });
  const summary = el("p", { class: "muted", role: "status" }, "Loading…");
  root.append(nodes, summary, grid);
  const tiles = new Map(), pictures = new Pictures(signal);
  let nodesBefore = "";

  const put = (data) => {
    const fresh = data.tiles ?? [];
    for (const item of fresh) {
      let tile = tiles.get(item.id);
      if (!tile) {
        tiles.set(item.id, (tile = new Tile(item.id, signal, pictures.watcher)));
        grid.append(tile.element);
      }
      tile.put(item);
      pictures.want(tile);
    }
    const there = new Set(fresh.map((item) => item.id));
    const gone = data.whole === false ? data.gone ?? [] : [...tiles.keys()].filter((id) => !there.has(id));
    for (const id of gone) {
      const tile = tiles.get(id);
      if (!tile) continue;
      pictures.watcher.unobserve(tile.element);
      if (tile.image.src) URL.revokeObjectURL(tile.image.src);
      tile.element.remove();
      tiles.delete(id);
    }
    const text = JSON.stringify(data.nodes ?? null);
    if (data.nodes && text !== nodesBefore) nodes.replaceChildren(...data.nodes.slice(0, 64).map(nodeRow));
    nodesBefore = data.nodes ? text : nodesBefore;
    const running = tiles.size === 1 ? "1 desktop" : `${tiles.size} desktops`;
    setText(summary, tiles.size ? running : "No desktop is running. Start a run, or open one with hisa desktop start.");
  };

  document.addEventListener("visibilitychange", () => pictures.pump(), { signal });
  put(await get("/api/desktops", signal));
  say(summary.textContent);
  follow("/api/desktops/stream", { tiles: put }, signal);
}
