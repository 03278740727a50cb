// Returns the controls that can be seen in this page: role, box in CSS pixels, states and name.
(() => {
  const INPUTS = {checkbox: "check box", radio: "radio", range: "slider", button: "button",
    submit: "button", reset: "button", file: "button", color: "button", image: "button"};
  const ROLES = {button: "button", textbox: "field", searchbox: "field", spinbutton: "field",
    combobox: "combo box", checkbox: "check box", radio: "radio", switch: "switch", link: "link",
    tab: "tab", menuitem: "menu item", menuitemcheckbox: "menu item", menuitemradio: "menu item",
    option: "list item", treeitem: "list item", listitem: "list item", gridcell: "table cell",
    cell: "table cell", columnheader: "table cell", slider: "slider", img: "image",
    heading: "heading", dialog: "dialog", alertdialog: "dialog"};
  const TAGS = {BUTTON: "button", SUMMARY: "button", TEXTAREA: "field", SELECT: "combo box",
    TD: "table cell", TH: "table cell", IMG: "image", H1: "heading", H2: "heading",
    H3: "heading", H4: "heading", H5: "heading", H6: "heading"};
  const SHRUNK = new Set(["heading", "link", "list item", "icon"]);
  const SMALLEST = 5, THUMB = 18, CLEAR = "rgba(0, 0, 0, 0)";

  const parentOf = node => node.assignedSlot || node.parentElement || node.getRootNode().host;
  const styleOf = (node, pseudo) => getComputedStyle(node, pseudo);

  function roleOf(node) {
    if (node.dataset.role) return node.dataset.role;
    const named = ROLES[node.getAttribute("role")];
    if (named) return named;
    if (node.tagName === "INPUT")
      return node.type === "hidden" ? "" : INPUTS[node.type] || "field";
    if (node.tagName === "A") return node.hasAttribute("href") ? "link" : "";
    return TAGS[node.tagName] || "";
  }

  function textRects(node) {
    const rects = [];
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (walker.nextNode()) {
      if (!walker.currentNode.data.trim() || isHidden(walker.currentNode.parentElement)) continue;
      range.selectNodeContents(walker.currentNode);
      rects.push(...range.getClientRects());
    }
    return rects.filter(rect => rect.width > 1 && rect.height > 1);
  }

  const pictureRects = node =>
    [...node.querySelectorAll("svg,img,input,button,select")].map(n => n.getBoundingClientRect());

  function isHidden(node) {
    for (let at = node; at; at = parentOf(at)) if (Number(styleOf(at).opacity) < 0.15) return true;
    return styleOf(node).visibility !== "visible";
  }

  function isPainted(node) {
    const style = styleOf(node);
    if (style.backgroundImage !== "none" || style.boxShadow !== "none") return true;
    if (opacityOf(style.backgroundColor) > 0.04) return true;
    return ["Top", "Bottom", "Left", "Right"].some(side =>
      parseFloat(style[`border${side}Width`]) > 0 && style[`border${side}Style`] !== "none"
      && opacityOf(style[`border${side}Color`]) > 0.04);
  }

  function opacityOf(color) {
    if (color === CLEAR || color === "transparent") return 0;
    const alpha = /(?:,\s*|\/\s*)([\d.]+)\)$/.exec(/^rgba|\//.test(color) ? color : "");
    return alpha ? Number(alpha[1]) : 1;
  }

  function union(rects) {
    if (!rects.length) return null;
    return [Math.min(...rects.map(r => r.left)), Math.min(...rects.map(r => r.top)),
      Math.max(...rects.map(r => r.right)), Math.max(...rects.map(r => r.bottom))];
  }

  // A generated box that is placed absolutely has its place and size in its computed style.
  function pseudoBox(node, pseudo) {
    const style = styleOf(node, pseudo), number = key => parseFloat(style[key]) || 0;
    if (style.content === "none") return null;
    let holder = node;
    while (holder.parentElement && styleOf(holder).position === "static")
      holder = holder.parentElement;
    const rect = holder.getBoundingClientRect();
    const left = rect.left + holder.clientLeft + number("left") + number("marginLeft");
    const top = rect.top + holder.clientTop + number("top") + number("marginTop");
    const around = style.boxSizing === "border-box" ? [0, 0] : [
      number("borderLeftWidth") + number("borderRightWidth")
        + number("paddingLeft") + number("paddingRight"),
      number("borderTopWidth") + number("borderBottomWidth")
        + number("paddingTop") + number("paddingBottom")];
    return [left, top, left + number("width") + around[0], top + number("height") + around[1]];
  }

  function boxOf(node, role) {
    if (node.dataset.pseudo) return pseudoBox(node, node.dataset.pseudo);
    const rect = node.getBoundingClientRect();
    if (node.tagName === "SUMMARY" && !isPainted(node)) {  // its triangle is no text
      const right = styleOf(node).direction === "rtl" ? rect.right : rect.left;
      return union([...textRects(node), {left: right, right, top: rect.bottom, bottom: rect.top}]);
    }
    const lines = styleOf(node).display === "inline" ? [...node.getClientRects()] : [];
    if (lines.length > 1)  // of a link that goes on in the next line, the longest part
      return union([lines.reduce((best, line) => line.width > best.width ? line : best)]);
    if (SHRUNK.has(role) && !isPainted(node) && !isRow(node, role))
      return union([...textRects(node), ...pictureRects(node)].filter(r => r.width > 1));
    return union([rect]);
  }

  // An entry is as wide as its list where another entry shows how wide that is.
  function isRow(node, role) {
    const display = styleOf(node).display;
    return role !== "icon" && role !== "heading" && !display.startsWith("inline")
      && [...node.parentElement?.children || []].some(other => other !== node
        && other.tagName === node.tagName && isPainted(other));
  }

  // A field without paint of its own is drawn by a node around it.
  function drawnField(node) {
    const own = node.getBoundingClientRect();
    for (let at = node, level = 0; at && level < 4; at = parentOf(at), level++)
      if (isPainted(at)) return at.getBoundingClientRect().height < 2.6 * own.height ? at : node;
    return node;
  }

  function clip(node, box) {
    let place = styleOf(node).position;
    for (let at = parentOf(node); at && place !== "fixed"; at = parentOf(at)) {
      const style = styleOf(at);
      if (place === "absolute" && style.position === "static") continue;
      place = style.position;
      if (at === document.body || at === document.documentElement) continue;
      const rect = at.getBoundingClientRect();
      const left = rect.left + at.clientLeft, top = rect.top + at.clientTop;
      if (style.overflowX !== "visible")
        box = [Math.max(box[0], left), box[1], Math.min(box[2], left + at.clientWidth), box[3]];
      if (style.overflowY !== "visible")
        box = [box[0], Math.max(box[1], top), box[2], Math.min(box[3], top + at.clientHeight)];
    }
    const page = document.documentElement;
    return [Math.max(0, box[0]), Math.max(0, box[1]),
      Math.min(page.clientWidth || innerWidth, box[2]), Math.min(innerHeight, box[3])];
  }

  function topmost(x, y) {
    let hit = document.elementFromPoint(x, y);
    while (hit?.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    return hit;
  }

  function within(node, outer) {
    for (let at = node; at; at = parentOf(at)) if (at === outer) return true;
    return false;
  }

  // Whether what a hit test returns belongs to a node.
  function isPart(hit, node) {
    const label = node.closest("label, [data-whole]");
    return within(hit, node) || (label && within(hit, label))
      || (hit.dataset?.role === "none" && hit.parentElement === node.parentElement);
  }

  function isUncovered(node, box) {
    const [left, top, right, bottom] = box;
    const place = (from, to, share) => from + (to - from) * share;
    const hits = [[0.5, 0.5], [0.2, 0.2], [0.8, 0.2], [0.2, 0.8], [0.8, 0.8]].filter(([x, y]) => {
      const hit = topmost(place(left, right, x), place(top, bottom, y));
      return hit && isPart(hit, node);
    });
    return hits.length >= 3;
  }

  // Returns the rectangle of what covers a node at a point, if anything does.
  function coverAt(node, x, y) {
    let cover = topmost(x, y);
    if (!cover || isPart(cover, node)) return null;
    while (parentOf(cover) && !within(node, parentOf(cover))) cover = parentOf(cover);
    return cover.getBoundingClientRect();
  }

  // Returns a box without the sides that another thing covers from edge to edge.
  function trim(node, box) {
    const [left, top, right, bottom] = box;
    const x = (left + right) / 2, y = (top + bottom) / 2, inset = 3;
    const isTall = rect => rect && rect.top < top - 2 && rect.bottom > bottom + 2;
    const isWide = rect => rect && rect.left < left - 2 && rect.right > right + 2;
    const covers = [coverAt(node, left + inset, y), coverAt(node, right - inset, y),
      coverAt(node, x, top + inset), coverAt(node, x, bottom - inset)];
    const trimmed = [...box];
    if (isTall(covers[0]) && covers[0].right < x) trimmed[0] = covers[0].right;
    if (isTall(covers[1]) && covers[1].left > x) trimmed[2] = covers[1].left;
    if (isWide(covers[2]) && covers[2].bottom < y) trimmed[1] = covers[2].bottom;
    if (isWide(covers[3]) && covers[3].top > y) trimmed[3] = covers[3].top;
    return trimmed;
  }

  function inputOf(node) {
    if (node.matches("input,button,select,textarea")) return node;
    const isDrawn = node.dataset.pseudo || node.dataset.role;
    return node.querySelector("input") || node.closest("label")?.querySelector("input")
      || (isDrawn ? node.parentElement.querySelector("input") : null);
  }

  function statesOf(node, role) {
    const input = inputOf(node), is = name => node.getAttribute(name) === "true";
    const held = ["check box", "radio", "switch"].includes(role);
    const focused = document.activeElement;
    return [
      held && (input?.checked || is("aria-checked")) && "checked",
      (is("aria-selected") || node.hasAttribute("aria-current")) && "selected",
      ((role !== "tab" && input?.disabled) || is("aria-disabled")) && "disabled",
      focused !== document.body && focused && (focused === node || focused === input) && "focused",
      (is("aria-expanded") || (node.tagName === "SUMMARY" && node.parentElement.open))
        && "expanded",
    ].filter(Boolean);
  }

  function nameOf(node) {
    const input = inputOf(node);
    const text = node.getAttribute("aria-label") || input?.labels?.[0]?.innerText
      || node.closest("label")?.innerText || node.innerText || node.alt || input?.placeholder
      || input?.value || node.title || "";
    return text.replace(/\s+/g, " ").trim().slice(0, 80);
  }

  function withoutText(node) {
    return !textRects(node).length && !node.value && node.querySelector("svg,img,i");
  }

  function describe(node) {
    let role = roleOf(node);
    if (!role || role === "none" || isHidden(node)) return null;
    if ((role === "button" || role === "link") && withoutText(node)) role = "icon";
    const drawn = role === "field" || role === "combo box" ? drawnField(node) : node;
    let box = boxOf(drawn, role);
    if (!box) return null;
    box = clip(node, box);
    if (box[2] <= box[0] || box[3] <= box[1] || !isUncovered(drawn, box)) return null;
    box = trim(drawn, box);
    const missing = THUMB - (box[3] - box[1]);
    if (role === "slider" && missing > 0)  // the thumb is drawn over the edges of a thin track
      box = clip(node, [box[0], box[1] - missing / 2, box[2], box[3] + missing / 2]);
    if (box[2] - box[0] < SMALLEST || box[3] - box[1] < SMALLEST) return null;
    return {node, role, box, states: statesOf(node, role), name: nameOf(node)};
  }

  function scrollBars(node) {
    const page = node === document.documentElement;
    const style = styleOf(node), rect = node.getBoundingClientRect();
    const scrolls = flow => page || flow === "auto" || flow === "scroll";
    const right = page ? innerWidth : rect.right - (parseFloat(style.borderRightWidth) || 0);
    const bottom = page ? innerHeight : rect.bottom - (parseFloat(style.borderBottomWidth) || 0);
    const left = page ? 0 : rect.left + node.clientLeft;
    const top = page ? 0 : rect.top + node.clientTop;
    const boxes = [];
    if (scrolls(style.overflowY) && node.scrollHeight > node.clientHeight)
      boxes.push(style.direction === "rtl" && !page
        ? [rect.left + (parseFloat(style.borderLeftWidth) || 0), top, left, top + node.clientHeight]
        : [left + node.clientWidth, top, right, top + node.clientHeight]);
    if (scrolls(style.overflowX) && node.scrollWidth > node.clientWidth)
      boxes.push([left, top + node.clientHeight, left + node.clientWidth, bottom]);
    return boxes.filter(b => b[2] - b[0] > 3 && b[3] - b[1] > 3)
      .map(box => page ? box : clip(node, box))
      .filter(b => b[2] - b[0] > 3 && b[3] - b[1] > 3)
      .filter(box => page || isUncovered(node, box))
      .map(box => ({node, role: "scroll bar", box, states: [], name: ""}));
  }

  function share(a, b) {
    const across = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
    const down = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
    if (across <= 0 || down <= 0) return 0;
    const area = c => (c[2] - c[0]) * (c[3] - c[1]);
    return across * down / (area(a) + area(b) - across * down);
  }

  function allNodes(root) {
    return [...root.querySelectorAll("*")].flatMap(node =>
      node.shadowRoot ? [node, ...allNodes(node.shadowRoot)] : [node]);
  }

  const free = document.createElement("style");
  free.textContent = "*:not(#x):not(#y) { pointer-events: auto !important }";
  document.head.append(free);
  const nodes = allNodes(document);
  const seen = nodes.map(describe).filter(Boolean).concat(nodes.flatMap(scrollBars));
  free.remove();
  const repeated = seen.filter(outer => seen.some(inner => inner !== outer
    && inner.role === outer.role && share(inner.box, outer.box) > 0.9
    && (inner.node !== outer.node && within(inner.node, outer.node))));
  return seen.filter(thing => !repeated.includes(thing))
    .map(({role, box, states, name}) => ({role, box, states, name}));
})()
