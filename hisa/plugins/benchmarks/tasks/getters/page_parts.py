"""A getter for parts of the page in front: texts by class, label or path, values of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from pydantic import Field

from hisa.environments.clean_commands import python
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.tasks.chrome import ChromeSilent, tabs
from hisa.plugins.benchmarks.tasks.getters.address_bar import Address, active_url
from hisa.plugins.benchmarks.tasks.local_pages import page_driver
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.tasks.limits import ANSWER
from hisa.tasks.pieces import GETTERS

__all__ = ["PageParts"]

_LOAD_SECONDS = 30.0
"""Longest wait for a page that is still loading; after that it is read as it is."""
_PART = Annotated[str, Field(max_length=2000)]
_Named = Mapping[_PART, str]
"""What to look for, to the name that the metric expects."""
_Ranked = Mapping[_PART, Mapping[Annotated[str, Field(pattern=r"^\d{1,4}$")], str]]
"""A class, then the position among its elements, to the name that the metric expects."""
_Listed = Mapping[_PART, tuple[str, ...]]
"""A class, to the texts that its elements should have."""


class PageParts(Address):
    """What is read from the page in front; ``category`` says which of the keys count."""

    category: Literal["class", "label", "xpath", "input", "class&url"]
    single: _Named = Field(default_factory=dict, alias="class_singleObject")
    ranked: _Ranked | _Listed = Field(default_factory=dict, alias="class_multiObject")
    own_text: _Ranked = Field(default_factory=dict, alias="class_multiObject_child")
    heading: _Ranked = Field(default_factory=dict, alias="class_multiObject_only_child")
    searched: _Listed = Field(default_factory=dict, alias="class_multiObject_search_exist")
    products: _Listed = Field(default_factory=dict, alias="class_multiObject_li")
    labels: _Named = Field(default_factory=dict, alias="labelObject")
    paths: _Named = Field(default_factory=dict, alias="xpathObject")
    fields: _Named = Field(default_factory=dict, alias="inputObject")
    in_address: Annotated[tuple[str, ...], Field(alias="url_include_expected")] = ()
    any_in_address: _Named = Field(default_factory=dict, alias="url_include_expected_multichoice")

    def list_parts(self) -> dict[str, list[str]]:
        """Returns the parts to read of the page, by kind."""
        return {
            "text": [*self.single, *self.ranked, *self.searched],
            "own": [*self.own_text],
            "heading": [*self.heading],
            "product": [*self.products],
            "label": [*self.labels],
            "path": [*self.paths],
            "field": [*self.fields],
        }


@GETTERS("active_tab_html_parse", PageParts)
async def active_tab_parts(context: StepContext, params: PageParts) -> dict[str, Any] | None:
    """Returns parts of the page in front, under the names that the metric expects.

    Empty if no tab has the address that the bar shows; None if no browser shows an address.
    """
    address = await active_url(context, params)
    if address is None:
        return None
    try:
        tab = await _tab(context, address, params.goto_prefix)
    except ChromeSilent:
        return None
    if tab is None:
        return {}
    texts = _Texts(await _read(context, str(tab.get("id")), params.list_parts()))
    match params.category:
        case "class":
            return dict(_by_class(params, texts))
        case "label":
            return {name: texts.first("label", part) for part, name in params.labels.items()}
        case "xpath":
            return {name: texts.first("path", part) for part, name in params.paths.items()}
        case "input":
            return {name: texts.first("field", part) for part, name in params.fields.items()}
        case "class&url":
            return _by_class_and_address(params, texts, str(tab.get("url")).lower())


class _Texts:
    """The texts of a page, by kind and then by what was looked for."""

    def __init__(self, texts: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        self._texts = texts

    def all(self, kind: str, part: str) -> list[str]:
        """Returns every text, without white space at its ends."""
        texts = self._texts.get(kind, {}).get(part, [])
        return [str(text).strip() for text in texts]

    def first(self, kind: str, part: str) -> str:
        """Returns the first text; empty if there is none."""
        return next(iter(self.all(kind, part)), "")


def _by_class(params: PageParts, texts: _Texts) -> Iterator[tuple[str, Any]]:
    kinds = {"text": params.ranked, "own": params.own_text, "heading": params.heading}
    for kind, ranked in kinds.items():
        for part, names in ranked.items():
            shown_texts = texts.all(kind, part)
            for place, name in names.items() if isinstance(names, Mapping) else ():
                yield name, shown_texts[int(place)] if int(place) < len(shown_texts) else ""
    for part, expected in params.searched.items():
        shown_texts = texts.all("text", part)
        yield from ((text, text in shown_texts) for text in expected if text != "is_other_exist")
        if "is_other_exist" in expected:
            yield "is_other_exist", any(text not in expected for text in shown_texts)
    for part, name in params.single.items():
        yield name, texts.first("text", part)


def _by_class_and_address(params: PageParts, texts: _Texts, address: str) -> dict[str, Any]:
    """Returns values as in the benchmark: a class's texts take precedence over the address."""
    values: dict[str, Any] = {}
    for kind, names_by_part in (("text", params.ranked), ("product", params.products)):
        for part, names in names_by_part.items():
            shown_texts = [text.lower() for text in texts.all(kind, part)]
            expected = [name.lower() for name in names]
            values |= {name: True for name in expected if name in shown_texts}
            if any(all(text not in name for name in expected) for text in shown_texts):
                values["is_other_exist"] = True
            values.setdefault("is_other_exist", False)
    for word in params.in_address:
        values.setdefault(word.lower(), word.lower() in address)
    for word, name in params.any_in_address.items():
        values.setdefault(name.lower(), word.lower() in address)
    return values


async def _tab(context: StepContext, address: str, prefix: str) -> Mapping[str, Any] | None:
    """Returns the tab whose address the bar shows; the bar leaves out the scheme."""
    bar = _plain(address.removeprefix(prefix))
    return next((tab for tab in await tabs(context) if _plain(str(tab.get("url"))) == bar), None)


def _plain(address: str) -> str:
    bare = address.removeprefix("https://").removeprefix("http://").removeprefix("www.")
    return unquote(bare).rstrip("/")


_TAIL = """
def read() -> object:
    wanted = json.loads(sys.argv[1])
    tabs = {tab.get("id"): tab for tab in ask("/json/list")}
    page = Page(tabs[wanted["tab"]]["webSocketDebuggerUrl"])
    deadline = time.monotonic() + wanted["seconds"]
    while page.evaluate("document.readyState") != "complete" and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    frame = page.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
    world = page.call("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
    said = page.call("Runtime.evaluate", contextId=world, returnByValue=True,
                     expression=wanted["source"])
    if "exceptionDetails" in said:
        raise Broken(str(said["exceptionDetails"])[:300])
    return said["result"]["value"]

sys.stdout.write(json.dumps(read()))
"""
"""Runs in the machine, after the functions of `page_driver`."""
_SOURCE = """
(wanted => {
  const deep = (root, css) => [...root.querySelectorAll("*")].flatMap(element => [
    ...(element.matches(css) ? [element] : []),
    ...(element.shadowRoot ? deep(element.shadowRoot, css) : []),
  ]);
  const classed = name => deep(document, "." + name);
  const texts = elements => elements.map(element => element.textContent);
  const path = source => {
    const found = document.evaluate(source, document, null, 5, null);
    const node = found.iterateNext();
    return node ? [node] : [];
  };
  const plain = text => text.replace(/\\s+/g, " ").trim().toLowerCase();
  const labelled = text => {
    const exact = /^(["']).*\\1$/.test(text), label = plain(exact ? text.slice(1, -1) : text);
    const holds = element => !/^(SCRIPT|NOSCRIPT|STYLE|HEAD)$/.test(element.tagName)
      && (exact ? plain(element.textContent) === label
        : plain(element.textContent).includes(label));
    const found = [...document.querySelectorAll("body *")]
      .find(element => holds(element) && ![...element.children].some(holds));
    return found ? [found] : [];
  };
  const readers = {
    text: name => texts(classed(name)),
    own: name => classed(name).slice(0, 1).flatMap(element => [...element.childNodes]
      .filter(node => node.nodeType === 3).map(node => node.textContent.trim()).filter(Boolean)),
    heading: name => texts(classed(name).map(element => element.querySelector("h3"))
      .filter(Boolean)),
    product: name => deep(document, "." + name + " li.catAllProducts")
      .map(element => element.querySelector("span")).filter(Boolean).map(span => span.innerText),
    label: text => texts(labelled(text)),
    path: source => texts(path(source)),
    field: source => path(source).map(node => node.control || node)
      .filter(node => /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName)).map(node => node.value),
  };
  const read = (kind, part) => { try { return readers[kind](part); } catch (_) { return []; } };
  return Object.fromEntries(Object.entries(wanted).map(([kind, parts]) =>
    [kind, Object.fromEntries(parts.map(part => [part, read(kind, part)]))]));
})(%s)
"""
"""Runs in an isolated world, where the page's scripts can change nothing.

A class or path that is not valid finds nothing, as in the benchmark.
"""


async def _read(
    context: StepContext, tab: str, parts: Mapping[str, Sequence[str]]
) -> Mapping[str, Mapping[str, Sequence[str]]]:
    seconds = patience(_LOAD_SECONDS)
    arguments = {"tab": tab, "seconds": seconds, "source": _SOURCE % json.dumps(parts)}
    # Under another module name, the driver only defines its functions.
    source = f'__name__ = "page_driver"\n{page_driver()}\n{_TAIL}'
    result = await context.environment.execute(
        python(source, json.dumps(arguments)), timeout=seconds + patience(60.0), limit=ANSWER + 1
    )
    try:
        texts = json.loads(result.output) if result.exit_code == 0 else None
    except ValueError:
        texts = None
    if not isinstance(texts, dict):
        reason = "no answer in time" if result.timed_out else result.error.strip()[-300:]
        raise EnvironmentFailed(f"the page in front cannot be read: {reason}")
    return texts
