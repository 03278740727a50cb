// Reads a page and finds its elements, for browser_devtools.py. It runs in a world of its own, which
// the page's scripts cannot change; names and texts come in as arguments, answers go out as plain
// data. Only what a person could see counts.
(() => {
  const UNSEEN = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD", "OBJECT"]);
  const PRESSED = new Set(["button", "submit", "reset", "image"]);
  const TICKED = new Set(["checkbox", "radio"]);
  const PLACES = "a[href], button, summary, label, [onclick], [role=button], [role=link], [role=tab]," +
    "[role=menuitem], [role=menuitemcheckbox], [role=menuitemradio], [role=option]," +
    "[role=checkbox], [role=radio], [role=switch], [role=treeitem], input, area[href]";
  const FIELDS = "input, textarea, select, [contenteditable=''], [contenteditable=true]," +
    "[role=textbox], [role=searchbox], [role=combobox], [role=checkbox], [role=radio], [role=switch]";
  const SETTLED = new Set(["date", "time", "datetime-local", "month", "week", "color", "range"]);
  const NEAR = 8; // names that an error lists
  const MOST = 60000; // nodes of a page that are walked
  let held = null;

  const plain = text => (text || "").replace(/\s+/g, " ").trim();
  const short = (text, size) => (text.length > size ? text.slice(0, size - 1) + "…" : text);
  const fold = text => plain(text).toLowerCase();
  const inner = frame => {
    try {
      return frame.contentDocument && frame.contentDocument.body;
    } catch {
      return null;
    }
  };

  // Whether a box is drawn where somebody can scroll to it.
  const drawn = (box, view) =>
    box.width > 1 && box.height > 1 &&
    box.right + view.scrollX > 0 && box.bottom + view.scrollY > 0;
  const visible = element =>
    element.checkVisibility({opacityProperty: true, visibilityProperty: true}) &&
    drawn(element.getBoundingClientRect(), element.ownerDocument.defaultView);
  const textDrawn = node => {
    const parent = node.parentElement || node.getRootNode().host;
    if (!parent) return false;
    const style = getComputedStyle(parent);
    const checked = style.display === "contents" ? parent.parentElement || parent : parent;
    if (style.visibility !== "visible") return false;
    if (!checked.checkVisibility({opacityProperty: true, visibilityProperty: true})) return false;
    if (style.display !== "contents" && style.display !== "inline" && !visible(parent)) return false;
    const range = node.ownerDocument.createRange();
    range.selectNodeContents(node);
    const view = node.ownerDocument.defaultView;
    return [...range.getClientRects()].some(box => drawn(box, view));
  };

  function* every(root) {
    for (const element of root.querySelectorAll("*")) {
      yield element;
      if (element.shadowRoot) yield* every(element.shadowRoot);
      const body = element.tagName === "IFRAME" && inner(element);
      if (body) yield* every(body);
    }
  }
  const matching = selector => [...every(document)].filter(element => element.matches(selector));

  const kind = element => {
    const role = element.getAttribute("role");
    if (element.tagName === "INPUT") return element.type;
    if (element.tagName === "SELECT") return "select";
    if (element.tagName === "TEXTAREA") return "textarea";
    if (element.isContentEditable) return "text";
    if (element.tagName === "A") return "link";
    if (element.tagName === "BUTTON") return "button";
    return role || element.tagName.toLowerCase();
  };
  const byId = (element, attribute) =>
    (element.getAttribute(attribute) || "").split(/\s+/).filter(Boolean)
      .map(id => element.getRootNode().getElementById(id)).filter(Boolean)
      .map(named => plain(named.textContent)).join(" ");
  // The text of a label without that of the fields inside it.
  const labelText = label => {
    const copy = label.cloneNode(true);
    for (const part of copy.querySelectorAll("select, textarea, input, button, script, style"))
      part.remove();
    return plain(copy.textContent);
  };
  // The text beside a field: of a label that is bound to no field, or of the cell before it.
  const nearbyLabel = element => {
    const next = TICKED.has(element.type) ? "previousElementSibling" : "nextElementSibling";
    const touches = label => {
      const at = label[next];
      return (at && at.tagName === "BR" ? at[next] : at) === element;
    };
    const alone = label => {
      let at = label.parentElement;
      while (at && !at.contains(element)) at = at.parentElement;
      return at && [...at.querySelectorAll(FIELDS)].filter(isField).length === 1;
    };
    const free = [...element.getRootNode().querySelectorAll("label")]
      .filter(label => !label.control && visible(label));
    const near = free.some(touches) ? free.filter(touches) : free.filter(alone);
    if (near.length) return near.length === 1 ? labelText(near[0]) : "";
    const cell = element.closest("td, dd"), before = cell && cell.previousElementSibling;
    return before && !before.querySelector(FIELDS) ? plain(before.innerText) : "";
  };
  const fieldNames = element =>
    [
      byId(element, "aria-labelledby"),
      ...[...(element.labels || [])].map(labelText),
      element.getAttribute("aria-label"),
      (element.labels || []).length ? "" : nearbyLabel(element),
      element.placeholder,
      element.title,
      element.getAttribute("name"),
      element.id,
    ].map(plain).filter(Boolean);
  const placeNames = element => {
    const pressed = element.tagName === "INPUT" && PRESSED.has(element.type);
    const own = element.tagName === "INPUT" ? (pressed ? element.value : "") : element.innerText;
    const pictures = [...element.querySelectorAll("img[alt]")].map(image => image.alt);
    return [
      own, byId(element, "aria-labelledby"), element.getAttribute("aria-label"), element.alt,
      ...pictures, ...[...(element.labels || [])].map(labelText), element.title,
    ].map(plain).filter(Boolean);
  };
  const isField = element =>
    element.matches(FIELDS) && !(element.tagName === "INPUT" &&
      (PRESSED.has(element.type) || element.type === "hidden"));
  // A box of which only the label is drawn counts as visible.
  const fieldSeen = element => visible(element) || [...(element.labels || [])].some(visible);

  const describe = element => {
    const name = (isField(element) ? fieldNames(element) : placeNames(element))[0] || "";
    const shown = name || plain(element.innerText) || element.id || element.className;
    return `${kind(element)} "${short(String(shown), 60)}"`;
  };

  // The button by which Enter in a field submits its form.
  const submitButton = field =>
    field.tagName === "TEXTAREA" || field.isContentEditable || !field.form ? null
      : [...field.form.elements].find(part => ["submit", "image"].includes(part.type)) || null;

  const POOLS = {
    field: () => [...every(document)].filter(element => isField(element) && fieldSeen(element)),
    place: () => [...every(document)].filter(element => element.matches(PLACES) && visible(element)),
    any: () => [...every(document)].filter(element => {
      if (UNSEEN.has(element.tagName)) return false;
      const own = [...element.childNodes].some(node => node.nodeType === 3 && plain(node.data));
      return own && visible(element);
    }),
  };

  // The one element that a text means, as {element} or {problem}.
  const pick = (pools, wanted, nth) => {
    if (wanted.startsWith("css=")) {
      let matches;
      try {
        matches = matching(wanted.slice(4)).filter(fieldSeen);
      } catch {
        return {problem: `${JSON.stringify(wanted.slice(4))} is not a CSS selector`};
      }
      return takeMatch(matches, wanted, nth);
    }
    const sought = fold(wanted);
    if (!sought) return {problem: "the text is empty: name an element"};
    const ranks = [n => n === sought, n => n.startsWith(sought), n => n.includes(sought)];
    const names = pool => (pool === "field" ? fieldNames : placeNames);
    const listed = pools.map(pool => POOLS[pool]().map(element => ({
      element, names: names(pool)(element).map(fold),
    })));
    for (const fits of ranks)
      for (const pool of listed) {
        const matches = pool.filter(entry => entry.names.some(fits)).map(entry => entry.element);
        if (matches.length) return takeMatch(matches, wanted, nth);
      }
    const words = sought.split(" ").filter(word => word.length > 2);
    const near = listed[0].filter(entry => entry.names.some(n => words.some(w => n.includes(w))));
    const labels = (near.length ? near : listed[0]).slice(0, NEAR)
      .map(entry => describe(entry.element));
    return {problem: `nothing here is called ${JSON.stringify(wanted)}; there are: ` +
      (labels.join(", ") || "none of that kind") +
      "; use gui_action for what the screen shows and these tools do not find"};
  };
  const takeMatch = (matches, wanted, nth) => {
    let left = matches.filter(
      outer => !matches.some(inside => inside !== outer && outer.contains(inside)));
    // A label stands for its field.
    left = left.filter(match => !(match.tagName === "LABEL" && left.includes(match.control)));
    if (!left.length) return {problem: `nothing visible fits ${JSON.stringify(wanted)}`};
    if (nth > left.length)
      return {problem: `only ${left.length} fit ${JSON.stringify(wanted)}`};
    const same = left.every(match => match.href && match.href === left[0].href);
    if (nth || left.length === 1 || same) return {element: left[(nth || 1) - 1]};
    const labels = left.slice(0, NEAR).map((match, at) => `${at + 1}: ${describe(match)}`);
    return {problem: `${left.length} fit ${JSON.stringify(wanted)}: ${labels.join(", ")}; give nth`};
  };

  // A point of an element in the coordinates of the window's page, through the frames around it.
  const point = element => {
    const view = element.ownerDocument.defaultView;
    let dx = 0, dy = 0;
    for (let at = view; at !== at.parent && at.frameElement; at = at.parent) {
      const box = at.frameElement.getBoundingClientRect();
      dx += box.left + at.frameElement.clientLeft;
      dy += box.top + at.frameElement.clientTop;
    }
    const boxes = [...element.getClientRects()].filter(box => box.width > 1 && box.height > 1);
    let cover = null;
    for (const box of boxes)
      for (const [fx, fy] of [[0.5, 0.5], [0.2, 0.5], [0.8, 0.5], [0.5, 0.2], [0.5, 0.8]]) {
        const x = box.left + box.width * fx, y = box.top + box.height * fy;
        let hit = element.getRootNode().elementFromPoint(x, y);
        if (hit && (hit === element || element.contains(hit) || hit.contains(element) ||
            [...(element.labels || [])].includes(hit)))
          return {x: x + dx, y: y + dy};
        cover = cover || hit;
      }
    return {problem: cover ? `${describe(element)} is covered by ${describe(cover)}`
      : `${describe(element)} cannot be scrolled into view`};
  };

  const value = element => {
    if (TICKED.has(element.type)) return element.checked ? "on" : "off";
    if (element.tagName === "SELECT")
      return [...element.selectedOptions].map(option => plain(option.text)).join(", ");
    if (element.hasAttribute("aria-checked"))
      return element.getAttribute("aria-checked") === "true" ? "on" : "off";
    if (element.isContentEditable) return element.innerText.replace(/\n$/, "");
    return element.value === undefined ? plain(element.innerText) : element.value;
  };
  const shownValue = element => element.type === "password"
    ? (element.value ? `${element.value.length} characters, hidden` : "") : value(element);

  const FUNCTIONS = {
    info: () => ({url: location.href, title: document.title, state: document.readyState}),
    outline: () => outline(document.body),
    fields: () => POOLS.field().map(element => ({
      name: fieldNames(element)[0] || "", kind: kind(element), value: short(shownValue(element), 200),
      required: !!element.required, disabled: !!element.disabled, read_only: !!element.readOnly,
      options: element.tagName === "SELECT" ? [...element.options].map(o => plain(o.text)) : [],
    })),
    // Chooses an element, brings it into view, and keeps it for the next call.
    hold: ({pools, target, nth}) => {
      const choice = pick(pools, target, nth);
      if (choice.problem) return choice;
      held = choice.element;
      held.scrollIntoView({block: "center", inline: "nearest", behavior: "instant"});
      return {
        kind: kind(held), what: describe(held), value: value(held), href: held.href || "",
        disabled: !!held.disabled || held.getAttribute("aria-disabled") === "true",
        read_only: !!held.readOnly, settled: SETTLED.has(held.type), secret: held.type === "password",
      };
    },
    // Tells what a click, or Enter in a field, would press, and does nothing.
    aim: ({pools, target, nth, enter}) => {
      const choice = pick(pools, target, nth);
      if (choice.problem) return choice;
      let pressed = choice.element;
      if (enter && isField(pressed) && !TICKED.has(pressed.type)) pressed = submitButton(pressed);
      if (!pressed || (isField(pressed) && !TICKED.has(pressed.type)) ||
          pressed === pressed.ownerDocument.body)
        return {aim: null};
      const place = pressed.closest(PLACES) || pressed;
      const names = isField(pressed) ? fieldNames(pressed)
        : [...placeNames(place), ...placeNames(pressed)];
      const outer = place.closest(
        "dialog, [role=dialog], [role=alertdialog], form, section, fieldset, td, li") ||
        place.parentElement;
      return {aim: {names: names.map(n => short(n, 200)),
        around: outer ? short(plain(outer.innerText), 300) : ""}};
    },
    point: () => {
      const seen = visible(held) ? held : [...(held.labels || [])].find(visible);
      return seen ? point(seen) : {problem: `${describe(held)} is not visible`};
    },
    // Focuses the element that is held, with all its text selected.
    enter: () => {
      held.focus();
      if (held.isContentEditable) {
        const range = held.ownerDocument.createRange();
        range.selectNodeContents(held);
        const selection = held.ownerDocument.defaultView.getSelection();
        selection.removeAllRanges();
        selection.addRange(range);
      } else if (held.select) held.select();
      return held.getRootNode().activeElement === held;
    },
    // Sets a field that takes no typed text, such as a date, and tells the page.
    set: ({text}) => {
      held.focus();
      held.value = text;
      for (const name of ["input", "change"])
        held.dispatchEvent(new Event(name, {bubbles: true}));
      return held.value;
    },
    leave: () => {
      held.blur();
      return value(held);
    },
    value: () => (held.isConnected ? value(held) : null),
    choose: ({option}) => {
      if (held.tagName !== "SELECT") return {problem: `${describe(held)} is not a list of options`};
      const options = [...held.options], sought = fold(option);
      const match = options.find(o => fold(o.text) === sought) ||
        options.find(o => fold(o.value) === sought) ||
        options.find(o => fold(o.text).includes(sought));
      if (!match || match.disabled)
        return {problem: `${describe(held)} has no option ${JSON.stringify(option)}; it has: ` +
          short(options.filter(o => !o.disabled).map(o => plain(o.text)).join(", "), 600)};
      held.focus();
      if (!match.selected) {
        if (!held.multiple) held.selectedIndex = match.index;
        else match.selected = true;
        for (const name of ["input", "change"])
          held.dispatchEvent(new Event(name, {bubbles: true}));
      }
      return {value: value(held)};
    },
    save: ({name}) => {
      const link = document.createElement("a");
      link.href = held.href;
      link.download = name;
      document.body.append(link);
      link.click();
      link.remove();
      return held.href;
    },
  };

  const fieldText = element => {
    const name = (kind(element) === "submit" ? [element.value] : fieldNames(element))[0] || "";
    if (element.tagName === "INPUT" && PRESSED.has(element.type))
      return `[button "${element.value || name || element.type}"]`;
    if (TICKED.has(element.type)) return element.checked ? "[x]" : "[ ]";
    return `[${kind(element)} "${short(name, 60)}" = "${short(shownValue(element), 200)}"]`;
  };
  const address = link => {
    const there = new URL(link.href, location.href);
    if (there.origin !== location.origin || there.origin === "null") return link.href;
    return there.pathname + there.search + there.hash;
  };

  // The page as lines of text, with headings, links, fields, lists and rows marked as in Markdown.
  const outline = root => {
    let lines = [], line = "", mark = "", nodes = 0, cut = false, unread = 0;
    const flush = () => {
      const text = plain(line).replace(/(\s*\|)+$/, "");
      if (text) {
        lines.push(mark + text);
        mark = "";
      }
      line = "";
    };
    const children = node => {
      const shadow = node.shadowRoot;
      if (node.tagName === "SLOT" && node.assignedNodes().length) return node.assignedNodes();
      return shadow ? shadow.childNodes : node.childNodes;
    };
    const walkAll = node => {
      for (const child of children(node)) walk(child);
    };
    const marked = (element, before, after) => {
      const kept = [line, mark];
      line = mark = "";
      const depth = lines.length;
      walkAll(element);
      flush();
      const text = lines.splice(depth).join(" ");
      line = kept[0] + (text ? before + text + after : "");
      mark = kept[1];
    };
    const walk = node => {
      nodes += 1;
      if (nodes > MOST) {
        cut = true;
        return;
      }
      if (node.nodeType === 3) {
        if (plain(node.data) && textDrawn(node)) line += node.data;
        else if (node.data && /\s/.test(node.data)) line += " ";
        return;
      }
      if (node.nodeType !== 1 || UNSEEN.has(node.tagName)) return;
      const style = getComputedStyle(node), tag = node.tagName;
      if (style.display === "none") return;
      if (tag === "IFRAME") {
        const body = visible(node) && inner(node);
        flush();
        if (body) walkAll(body);
        else if (visible(node)) unread += 1;
        return flush();
      }
      if (isField(node) || (tag === "INPUT" && node.type !== "hidden")) {
        const seen = visible(node) || (TICKED.has(node.type) && fieldSeen(node));
        if (seen) line += ` ${fieldText(node)} `;
        return;
      }
      if (tag === "BUTTON") return marked(node, ' [button "', '"] ');
      if (tag === "A" && node.href) return marked(node, "[", `](${short(address(node), 200)})`);
      if (tag === "IMG") {
        if (plain(node.alt) && visible(node)) line += ` [picture: ${short(plain(node.alt), 100)}] `;
        return;
      }
      if (tag === "BR") return flush();
      if (tag === "TD" || tag === "TH") {
        marked(node, "", "");
        line += " | ";
        return;
      }
      const block = style.display !== "inline" && style.display !== "contents" &&
        !style.display.startsWith("inline");
      if (block) flush();
      if (/^H[1-6]$/.test(tag)) mark = "#".repeat(Number(tag[1])) + " ";
      if (tag === "LI") mark = "- ";
      walkAll(node);
      if (!block) return;
      flush();
      mark = "";
    };
    if (root) walkAll(root);
    flush();
    return {text: lines.join("\n"), cut, unread};
  };

  return {call: (name, given) => FUNCTIONS[name](given)};
})()
