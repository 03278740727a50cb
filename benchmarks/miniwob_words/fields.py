"""Scripts of pages with fields to type into; see `pages`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.miniwob_words.script import (
    BUTTON,
    FIELD,
    ORDER,
    ORDINAL,
    Call,
    Calls,
    Seen,
    Truth,
    click,
    field,
    named,
    nth,
    page,
    submit,
    typed,
)
from hisa.screen.observation import Element


@page("enter-text")
def _enter_text(see: Seen) -> Calls:
    yield typed("empty text field above the Submit button", text=see.quoted[0], at=field())
    yield submit("Submit button (grey, under the text field)")


@page("enter-text-2")
def _enter_text_2(see: Seen) -> Calls:
    text = see.quoted[0].upper() if "upper" in see.task else see.quoted[0].lower()
    yield typed(
        "text input box directly under the yellow instruction bar",
        "empty text input",
        text=text,
        at=field(),
    )
    yield submit("'Submit' button")


@page("enter-text-dynamic")
def _enter_text_dynamic(see: Seen) -> Calls:
    yield typed(
        "single-line text input at the top of the white area",
        "the only text field",
        text=see.quoted[0],
        at=field(),
    )
    yield submit("'Submit' button right below the text input")


@page("enter-password")
def _enter_password(see: Seen) -> Calls:
    for index, label in enumerate(("Password", "Verify password")):
        yield typed(
            f"empty password field below the label '{label}'",
            f"'{label}' text field",
            text=see.quoted[0],
            at=field(index),
        )
    yield submit("'Submit' button at the bottom")


@page("enter-date")
def _enter_date(see: Seen) -> Calls:
    digits = see.word(r"Enter (\S+) as").replace("/", "")
    yield typed(
        "month part 'mm' at the left of the date field showing 'mm/dd/yyyy'",
        "the 'mm' in the date input field",
        text=digits,
        at=nth(0, *FIELD, "date editor"),
    )
    yield submit("'Submit' button below the date field")


@page("enter-time")
def _enter_time(see: Seen) -> Calls:
    hour, minute, half = re.search(r"(\d+):(\d+) (\w\w)", see.task).groups()  # type: ignore[union-attr]
    yield typed(
        "hours part '--' at the left of the time input field",
        "leftmost part of the time field showing '--:-- --'",
        text=f"{int(hour):02}{minute}{half}",
        at=nth(0, *FIELD, "date editor"),
    )
    yield submit("'Submit' button")


@page("focus-text")
def _focus_text(see: Seen) -> Calls:
    yield click("the empty textbox in the white area", at=field())


@page("focus-text-2")
def _focus_text_2(see: Seen) -> Calls:
    order = see.word(r"the (\d\w\w) input")
    yield click(
        f"{order} input textbox from the top",
        f"the {ORDINAL[ORDER[order]]} of the three empty text boxes",
        at=field(ORDER[order]),
    )


@page("find-word")
def _find_word(see: Seen) -> Calls:
    index = int(see.word(r"the (\d+)\w\w word")) - 1
    words = re.findall(r"[A-Za-z]+", max(see.texts(), key=len))
    yield typed(
        "empty text box between the paragraph and the Submit button", text=words[index], at=field()
    )
    yield submit("'Submit' button at the bottom")


@page("guess-number")
def _guess_number(see: Seen) -> Calls:
    low, high = 0, 9
    for _ in range(5):
        guess = (low + high) // 2
        yield typed(
            "small number input field to the left of the Submit button",
            "number field next to 'Submit'",
            text=str(guess),
            at=field(),
            clear=True,
        )
        yield submit("'Submit' button to the right of the number field")
        said = " ".join(see.texts())
        if "higher" in said:
            low = guess + 1
        elif "lower" in said:
            high = guess - 1
        else:
            return


@page("login-user-popup")
def _login_user_popup(see: Seen) -> Calls:
    user, password = see.quoted[:2]
    for index, (label, text) in enumerate((("Username", user), ("Password", password))):
        for _ in range(2):
            yield typed(
                f"text field below the label '{label}'",
                f"{label} input box",
                text=text,
                at=field(index),
                clear=True,
            )
            if not see.shows("Cancel"):
                break
            yield click("'Cancel' button in the popup box", at=named("Cancel", BUTTON))
    login = see.texts(BUTTON)[-1]
    yield click(f"'{login}' button below the password field", at=named(login, BUTTON))


@page("multi-layouts")
def _multi_layouts(see: Seen) -> Calls:
    yield from _movie_search(see, "input field for the {what} (labeled '{label}')")


@page("multi-orderings")
def _multi_orderings(see: Seen) -> Calls:
    yield from _movie_search(see, "text box of the '{label}' row in the movie search form")


def _movie_search(see: Seen, words: str) -> Calls:
    values = {
        "Genre": ("genre", see.word(r"for (.+) movies")),
        "Director": ("director's name", see.word(r"directed by (.+) from")),
        "Year|Date": ("release year", see.word(r"year (\d+)")),
    }
    for pattern, (what, value) in values.items():
        label = see.find(rf"^((?:[A-Z]\w+ )?(?:{pattern})(?: \w+)?):?$")
        yield typed(
            words.format(what=what, label=label), f"'{label}' field", text=value, at=_beside(label)
        )
    name = next(t for t in see.texts() if t in ("Submit", "Search", "Go!", "Go", "Find"))
    yield click(f"'{name}' button at the bottom of the form", at=named(name))


def _beside(label: str) -> Truth:
    """The field that stands nearest to a text, to its right, below or above it."""

    def find(elements: Sequence[Element]) -> list[Element]:
        texts = [e for e in elements if e.name.strip().rstrip(":") == label]
        fields = [e for e in elements if e.role in FIELD]
        if not texts or len(fields) < 3:
            return []
        at = texts[0].box.centre
        return sorted(fields, key=lambda e: abs(e.box.centre.y - at.y))[:1]

    return find


@page("read-table")
def _read_table(see: Seen) -> Calls:
    cells = see.texts()
    value = cells[cells.index(see.word(r"value of (.+) into")) + 1]
    yield typed("empty text field below the table, above Submit", text=value, at=field())
    yield submit("'Submit' button below the text field")


@page("read-table-2")
def _read_table_2(see: Seen) -> Calls:
    cells = see.texts()
    labels = [t.rstrip(":") for t in cells if t.endswith(":") and t.rstrip(":") in cells]
    for index, label in enumerate(labels):
        value = cells[cells.index(label) + 1]
        yield typed(
            f"text field to the right of the label '{label}:' below the table",
            f"'{label}:' input field",
            text=value,
            at=field(index),
        )
    yield submit("'Submit' button at the bottom of the form")


@page("simple-arithmetic")
def _simple_arithmetic(see: Seen) -> Calls:
    a, sign, b = re.search(r"(-?\d+)\s*([-+x*])\s*(-?\d+)\s*=", " ".join(see.texts())).groups()  # type: ignore[union-attr]
    answer = {"+": int(a) + int(b), "-": int(a) - int(b)}.get(sign, int(a) * int(b))
    yield typed(
        f"answer box after '{a} {sign} {b} ='",
        "the only text box, where the answer goes",
        text=str(answer),
        at=field(),
    )
    yield submit("'Submit' button below the math problem")


@page("simple-algebra")
def _simple_algebra(see: Seen) -> Calls:
    a, sign, b, c = re.search(
        r"(\w+)\s*([-+])\s*(\w+)\s*=\s*(-?\d+)", " ".join(see.texts())
    ).groups()  # type: ignore[union-attr]
    total = int(c)
    if a == "x":
        answer = total + int(b) if sign == "-" else total - int(b)
    else:
        answer = int(a) - total if sign == "-" else total - int(a)
    yield typed(
        "answer text box to the right of 'x ='",
        "empty input after 'x ='",
        text=str(answer),
        at=field(),
    )
    yield submit("'Submit' button")


@page("use-autocomplete")
def _autocomplete(see: Seen) -> Calls:
    first, *end = see.quoted
    yield typed("'Tags:' text field", "empty input below the label 'Tags:'", text=first, at=field())
    fit = [
        t
        for t in see.texts()
        if t.lower().startswith(first.lower())
        and t != first
        and (not end or t.lower().endswith(end[0].lower()))
    ]
    yield click(
        f"'{fit[0]}' in the autocomplete suggestions below the text field",
        f"suggestion '{fit[0]}'",
        at=named(fit[0]),
    )
    yield submit("'Submit' button")


@page("text-transform")
def _text_transform(see: Seen) -> Calls:
    letters = [
        e.name.strip()
        for e in sorted(see.on_page(), key=lambda e: e.box.left)
        if len(e.name.strip()) == 1
    ]
    boxes = {round(e.box.left): e.name.strip() for e in see.on_page() if len(e.name.strip()) == 1}
    text = "".join(boxes[left] for left in sorted(boxes)) or "".join(letters)
    yield typed(
        "empty text field below the distorted text",
        "text input above Submit",
        text=text,
        at=field(),
    )
    yield submit("'Submit' button")


@page("terminal")
def _terminal(see: Seen) -> Calls:
    yield click(
        "black terminal area, at the prompt 'user$'",
        "the black terminal window",
        then="pyautogui.write('ls\\n')",
    )
    said = see.texts()
    names = said[said.index("ls") + 1].split()
    end = "" if "no file extension" in see.task else see.word(r"extension (\.\S+)")
    fit = [name for name in names if (name.endswith(end) if end else "." not in name)]
    line = f"rm {fit[0]}\n"
    yield Call("gui_action", f"pyautogui.write({line!r})")
