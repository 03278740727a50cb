"""Scripts of pages with text areas; see `pages`."""

from __future__ import annotations

import re

from benchmarks.miniwob_words.script import (
    BUTTON,
    FIELD,
    ORDER,
    ORDINAL,
    Calls,
    Seen,
    click,
    field,
    named,
    page,
    scroll,
    submit,
    typed,
)


@page("copy-paste")
def _copy_paste(see: Seen) -> Calls:
    text = next(e.text or e.name for e in see.on_page(*FIELD))
    yield click(
        f"text area at the top showing '{text[:12]}…'",
        "the multi-line text area above the text box",
        at=field(),
        then="pyautogui.hotkey('ctrl', 'a')\npyautogui.hotkey('ctrl', 'c')",
    )
    yield click(
        "empty single-line textbox between the text area and the Submit button",
        "empty text box above Submit",
        at=field(1),
        then="pyautogui.hotkey('ctrl', 'v')",
    )
    yield submit("'Submit' button below the textbox")


@page("copy-paste-2")
def _copy_paste_2(see: Seen) -> Calls:
    order = see.word(r"the (\d\w\w) text area")
    index = ORDER[order]
    fields = see.on_page(*FIELD)
    text = fields[index].text or fields[index].name
    yield click(
        f"{order} text area from the top, showing '{text[:6]}'",
        f"the {ORDINAL[index]} of the small text areas",
        at=field(index),
        then="pyautogui.hotkey('ctrl', 'a')\npyautogui.hotkey('ctrl', 'c')",
    )
    yield click(
        "empty text input above the Submit button",
        at=field(3),
        then="pyautogui.hotkey('ctrl', 'v')",
    )
    yield submit("'Submit' button at the bottom")


@page("scroll-text")
def _scroll_text(see: Seen) -> Calls:
    area = next(e.text or e.name for e in see.on_page(*FIELD))
    word = re.findall(r"\w+", area)[-1]
    yield typed(
        "empty text field between the text area and the Submit button", text=word, at=field(1)
    )
    yield submit("'Submit' button, partly below the page's edge")


@page("scroll-text-2")
def _scroll_text_2(see: Seen) -> Calls:
    clicks = 30 if "top" in see.task else -30
    yield scroll(
        clicks,
        "large scrollable text area at the top of the page",
        "the textarea with the text",
        at=field(),
    )
    yield submit("'Submit' button below the text area")


@page("sign-agreement")
def _sign_agreement(see: Seen) -> Calls:
    if "Scroll" not in see.task:
        yield click(
            "'Cancel' button next to the greyed out 'Agree' button", at=named("Cancel", BUTTON)
        )
        return
    name, button = see.quoted[:2]
    yield scroll(
        -40,
        "grey text area below the heading 'User agreement'",
        "the user agreement's text",
        at=field(),
    )
    yield typed(
        "'Name' text field below the agreement",
        "text field with the placeholder 'Name'",
        text=name,
        at=field(1),
    )
    yield click(f"'{button}' button at the bottom", at=named(button, BUTTON))


@page("highlight-text")
def _highlight_text(see: Seen) -> Calls:
    text = max((t for t in see.texts() if t != "Submit"), key=len)
    yield click(
        f"paragraph text '{text[:24]}' below the Submit button",
        f"the text that starts with '{text.split()[0]}'",
        at=named(text),
        how="tripleClick",
    )
    yield submit("'Submit' button")


@page("highlight-text-2")
def _highlight_text_2(see: Seen) -> Calls:
    order = see.word(r"the (\d\w\w) paragraph")
    paragraphs = [t for t in see.texts() if t != "Submit" and len(t) > 6]
    text = paragraphs[ORDER[order]]
    yield click(
        f"the {ORDINAL[ORDER[order]]} paragraph, starting with '{' '.join(text.split()[:2])}'",
        f"text '{text[:20]}'",
        at=named(text),
        how="tripleClick",
    )
    yield submit("grey 'Submit' button")
