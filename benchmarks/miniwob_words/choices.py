"""Scripts of pages with choices; see `pages`."""

from __future__ import annotations

from benchmarks.miniwob_words.script import (
    BUTTON,
    ORDER,
    ORDINAL,
    Call,
    Calls,
    Seen,
    click,
    field,
    named,
    nth,
    page,
    scroll,
    submit,
    typed,
)


@page("click-option")
def _click_option(see: Seen) -> Calls:
    name = see.word(r"Select (.+) and click")
    yield click(
        f"radio button to the left of '{name}'", f"radio button labeled '{name}'", at=named(name)
    )
    yield submit("'Submit' button below the radio buttons")


@page("click-checkboxes-large")
def _checkboxes_large(see: Seen) -> Calls:
    for name in see.word(r"Select (.+) and click").split(", "):
        yield click(
            f"checkbox to the left of '{name}'",
            f"empty check box of the label '{name}'",
            at=named(name),
        )
    yield submit("'Submit' button below the list of checkboxes")


@page("click-checkboxes-transfer")
def _checkboxes_transfer(see: Seen) -> Calls:
    names = see.word(r"Select (.+) and click")
    for name in [] if names == "nothing" else names.split(", "):
        yield click(f"the unticked square check box in front of '{name}'", at=named(name))
    yield submit("Submit button at the bottom")


@page("choose-list")
def _choose_list(see: Seen) -> Calls:
    name = see.word(r"Select (.+) from")
    shown = next((e.text or e.name for e in see.on_page("combo box")), "")
    yield click(
        f"drop-down list showing '{shown}' above the Submit button",
        "the wide drop-down box with a down arrow at its right end",
        at=nth(0, "combo box"),
    )
    yield click(
        f"option '{name}' in the opened drop-down list", f"'{name}' in the list", at=named(name)
    )
    yield submit()


@page("click-scroll-list")
def _scroll_list(see: Seen) -> Calls:
    names = see.word(r"Select (.+) from").split(", ")
    for index, name in enumerate(names):
        for _ in range(4):
            if _in_list(see, name):
                break
            yield scroll(
                -2,
                "scrollable list of names above the Submit button",
                at=nth(0, "list box", "list"),
            )
        what = f"list entry '{name}' in the scroll list"
        held = index > 0
        yield Call(
            "gui_action",
            "pyautogui.keyDown('ctrl')\npyautogui.click(X_COORD, Y_COORD)\npyautogui.keyUp('ctrl')"
            if held
            else "pyautogui.click(X_COORD, Y_COORD)",
            (what, f"'{name}' in the list above Submit"),
            truth=named(name),
        )
    yield submit("'Submit' button under the scroll list")


def _in_list(see: Seen, name: str) -> bool:
    lists = see.on_page("list box", "list")
    if not lists:
        return see.shows(name)
    box = lists[0].box
    return any(box.top <= e.box.centre.y <= box.bottom for e in named(name)(see.on_page()))


@page("form-sequence-2")
def _form_sequence_2(see: Seen) -> Calls:
    radio = see.word(r"the (\d\w\w) radio")
    box = see.word(r"the (\d\w\w) textbox")
    yield click(
        f"{radio} radio button from the left in the top row",
        f"the {ORDINAL[ORDER[radio]]} of the three round radio buttons",
        at=nth(ORDER[radio], "radio button"),
    )
    yield typed(
        f"{box} textbox from the left in the row of three small text boxes",
        f"the {ORDINAL[ORDER[box]]} text box below the radio buttons",
        text=see.quoted[0],
        at=field(ORDER[box]),
    )
    yield submit("'Submit' button at the bottom of the form")


@page("form-sequence-3")
def _form_sequence_3(see: Seen) -> Calls:
    size, answer = see.word(r"Choose (.+) from"), see.quoted[0]
    yield click(
        "empty drop-down box with a small down arrow, above the 'Yes', 'No' and 'Maybe' buttons",
        "grey dropdown at the top of the form",
    )
    yield click(f"'{size}' entry in the opened drop-down list", f"option '{size}'", at=named(size))
    yield click(f"'{answer}' button", at=named(answer, BUTTON))


@page("form-sequence")
def _form_sequence(see: Seen) -> Calls:
    wanted, box = int(see.word(r"Select (-?\d+)")), see.word(r"the (\d\w\w) checkbox")
    now = int(see.find(r"^(-?\d+)$"))
    key = "right" if wanted > now else "left"
    steps = abs(wanted - now)
    then = f"pyautogui.press('{key}', presses={steps})" if steps else ""
    yield click(
        f"slider handle (small grey square) on the horizontal slider showing {now}",
        f"handle of the slider to the left of the number {now}",
        then=then,
    )
    yield click(
        f"{box} checkbox from the left in the row below the slider",
        f"the {ORDINAL[ORDER[box]]} empty check box",
        at=nth(ORDER[box], "check box"),
    )
    yield submit("'Submit' button below the checkboxes")


@page("number-checkboxes")
def _number_checkboxes(see: Seen) -> Calls:
    for row, line in enumerate(_DIGITS[int(see.quoted[0])].split()):
        for column, mark in enumerate(line):
            if mark == "1":
                yield click(
                    f"checkbox in row {row + 1}, column {column + 1} of the 4x7 checkbox grid "
                    "on the left",
                    at=nth(row * 4 + column, "check box"),
                )
    yield submit("'Submit' button at the bottom left")


_DIGITS = (
    "0110 1001 1001 1001 1001 1001 0110",
    "0010 0110 0010 0010 0010 0010 0010",
    "0110 1001 1001 0010 0100 1000 1111",
    "0110 1001 0001 0110 0001 1001 0110",
    "1000 1010 1010 1111 0010 0010 0010",
    "1111 1000 1000 1110 0001 1001 0110",
    "0110 1001 1000 1110 1001 1001 0110",
    "1111 1001 0001 0010 0010 0100 0100",
    "0110 1001 1001 0110 1001 1001 0110",
    "0110 1001 1001 0111 0001 1001 0110",
)
"""The digits as the picture beside the boxes shows them, a word a row."""
