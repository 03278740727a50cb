// Scrolls a page and focuses a control, then returns the controls that can be seen: role, box in
// pixels, states and name. Marks of the page: `data-role` is a node's role ("none": it has none);
// `data-whole` is the role of a control of several nodes, of which `data-drawn` marks the one that
// is drawn, or names its generated box ("::before").
async (scroll = 0, focus = -1) => {
  const ROLES = Object.entries({
    "switch": "[role=switch]", "tab": "[role=tab]", "menu item": "[role^=menuitem]",
    "list item": "[role=option], [role=treeitem]", "combo box": "select, [role=combobox]",
    "check box": "[type=checkbox]", "radio": "[type=radio]",
    "slider": "[type=range], [role=slider]", "dialog": "[role=dialog]",
    "button": "button, summary", "field": "input, textarea", "link": "a[href]",
    "table cell": "td, th", "image": "img", "heading": "h1, h2, h3, h4, h5, h6",
  });
  const STATES = Object.entries({
    checked: ":checked, [aria-checked=true]", selected: "[aria-selected=true], [aria-current]",
    disabled: ":disabled, [aria-disabled=true]", focused: ":focus",
    expanded: "[aria-expanded=true], [open] > summary",
  });
  const ROWS = ["link", "list item"], SMALLEST = 5, THUMB = 18;  // CSS pixels
  const page = document.documentElement, styleOf = (...part) => getComputedStyle(...part);
  const isShown = node => node.checkVisibility({opacityProperty: true, visibilityProperty: true});
  const wholeOf = node => node.closest("[data-whole]") ?? node.closest("label") ?? node;

  function roleOf(node) {
    if (node.dataset.role) return node.dataset.role.replace("none", "");
    const whole = node.closest("[data-whole]"), find = selector => whole?.querySelector(selector);
    const drawn = find("[data-drawn]") ?? find("input, select, [role]");
    if (whole) return node === drawn ? whole.dataset.whole : "";
    const role = ROLES.find(([, selector]) => node.matches(selector))?.[0];
    const isBare = !node.innerText?.trim() && node.querySelector("svg, img");
    return ["button", "link"].includes(role) && isBare ? "icon" : role;
  }

  function contentRect(node) {
    const range = document.createRange();
    range.selectNodeContents(node);
    return range.getBoundingClientRect();
  }

  function isPainted(node) {
    const style = styleOf(node), isClear = color => /[, ]0(\.0\d*)?\)$/.test(color);
    return style.backgroundImage !== "none" || style.boxShadow !== "none"
      || !isClear(style.backgroundColor) || ["Top", "Bottom", "Left"].some(side =>
        parseFloat(style[`border${side}Width`]) > 0 && !isClear(style[`border${side}Color`]));
  }

  // A heading, and an unpainted link, entry or icon, is where its text and pictures are; but an
  // entry is as wide as its list where another entry shows how wide that is.
  function boxOf(node, role) {
    if (node.dataset.drawn) return generatedBox(node, node.dataset.drawn);
    const peers = ROWS.includes(role) ? [...node.parentElement.children] : [];
    const rows = [node, ...peers.filter(peer => peer.tagName === node.tagName)];
    const isShrunk = role === "heading"
      || ([...ROWS, "icon"].includes(role) && !rows.some(isPainted));
    const rect = isShrunk ? contentRect(node) : node.getBoundingClientRect();
    return [rect.left, rect.top, rect.right, rect.bottom];
  }

  // A generated box that is placed absolutely has its place and size in its computed style.
  function generatedBox(node, pseudo) {
    const style = styleOf(node, pseudo), isContent = style.boxSizing === "content-box";
    const holder = styleOf(node).position === "static" ? node.offsetParent : node;
    const rect = holder.getBoundingClientRect();
    const sum = (...keys) => keys.reduce((total, key) => total + (parseFloat(style[key]) || 0), 0);
    const left = rect.left + holder.clientLeft + sum("left", "marginLeft");
    const top = rect.top + holder.clientTop + sum("top", "marginTop");
    const around = isContent ? 2 * sum("borderTopWidth", "paddingTop") : 0;
    return [left, top, left + sum("width") + around, top + sum("height") + around];
  }

  // Returns the part of a box that is not cut off or covered, seen from its middle.
  function visiblePart(node, box) {
    const isSeen = (x, y) => wholeOf(node).contains(document.elementFromPoint(x, y));
    const left = Math.max(box[0], 0), right = Math.min(box[2], page.clientWidth);
    const top = Math.max(box[1], 0), bottom = Math.min(box[3], innerHeight);
    if (!isSeen((left + right) / 2, (top + bottom) / 2)) return null;
    const spread = (from, to) => [0.15, 0.5, 0.85].map(share => from + share * (to - from));
    const isSeenAcross = x => spread(top, bottom).some(y => isSeen(x, y));
    const isSeenDown = y => spread(left, right).some(x => isSeen(x, y));
    const reach = (edge, opposite, isSeenAt) => {
      let outer = edge + 2 * Math.sign(opposite - edge), inner = (edge + opposite) / 2;
      if (isSeenAt(outer)) return edge;
      while (Math.abs(outer - inner) > 0.1) {
        const between = (outer + inner) / 2;
        [outer, inner] = isSeenAt(between) ? [outer, between] : [between, inner];
      }
      return inner;
    };
    return [reach(left, right, isSeenAcross), reach(top, bottom, isSeenDown),
      reach(right, left, isSeenAcross), reach(bottom, top, isSeenDown)];
  }

  function describe(node) {
    const role = isShown(node) && roleOf(node);
    const box = role && visiblePart(node, boxOf(node, role));
    if (!box) return [];
    // The thumb of a slider is drawn over the edges of a thin track.
    const missing = role === "slider" ? Math.max(0, THUMB - (box[3] - box[1])) / 2 : 0;
    [box[1], box[3]] = [box[1] - missing, box[3] + missing];
    const whole = wholeOf(node), inner = whole.querySelector("input, select, [aria-checked]");
    const input = (whole !== node && inner) || node;
    const states = STATES.filter(([, is]) => node.matches(is) || input.matches(is));
    const name = node.ariaLabel || whole.innerText || input.placeholder || input.value || node.alt;
    return [{role, box, states: states.map(([state]) => state), name: (name || "").slice(0, 80)}];
  }

  function scrollBars(node) {
    const style = styleOf(node), rect = node.getBoundingClientRect(), isPage = node === page;
    if (!isPage && !/auto|scroll/.test(style.overflow)) return [];
    const border = isPage ? 0 : parseFloat(style.borderTopWidth);
    const [left, top, right, bottom] = isPage ? [0, 0, innerWidth, innerHeight]
      : [rect.left + border, rect.top + border, rect.right - border, rect.bottom - border];
    const start = isPage ? 0 : rect.left + node.clientLeft;
    const end = start + node.clientWidth, foot = top + node.clientHeight;
    return [[left, top, start, foot], [end, top, right, foot], [start, foot, end, bottom]]
      .map(box => isPage ? box : visiblePart(node, box)).filter(Boolean)
      .map(box => ({role: "scroll bar", box, states: [], name: ""}));
  }

  await document.fonts.ready;
  const controls = document.querySelectorAll("button, input, select, textarea, a[href]");
  controls[Math.floor(focus * controls.length)]?.focus({preventScroll: true, focusVisible: true});
  for (const node of [page, ...document.querySelectorAll(".x-scroll")])
    node.scrollTop = scroll * (node.scrollHeight - node.clientHeight);
  await new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  const nodes = [page, ...document.body.querySelectorAll("*")].filter(node => node.dataset);
  const things = nodes.flatMap(node => [...describe(node), ...scrollBars(node)]);
  const scale = (edge, i) => Math.min(Math.round(edge * devicePixelRatio),
    Math.floor((i % 2 ? innerHeight : innerWidth) * devicePixelRatio));
  return things.filter(({box}) => box[2] - box[0] >= SMALLEST && box[3] - box[1] >= SMALLEST)
    .map(thing => ({...thing, box: thing.box.map(scale)}));
}
