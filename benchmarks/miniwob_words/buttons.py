"""Scripts of pages with buttons and links; see `pages`."""

from __future__ import annotations

import re

from benchmarks.miniwob_words.script import (
    BUTTON,
    ORDINAL,
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


@page("click-test")
def _click_test(see: Seen) -> Calls:
    yield click("'Click Me!' button (small grey square)", at=named("Click Me!", BUTTON))


@page("click-test-2")
def _click_test_2(see: Seen) -> Calls:
    name = see.word(r"button (\w+)")
    yield click(f"button labeled '{name}' (not the other one)", at=named(name, BUTTON))


@page("click-button")
def _click_button(see: Seen) -> Calls:
    name = see.quoted[0]
    yield click(
        f"grey button with the label '{name}' in the white area below the instruction",
        f"'{name}' button",
        at=named(name, BUTTON),
    )


@page("click-button-sequence")
def _click_button_sequence(see: Seen) -> Calls:
    yield click("square button 'ONE'", at=named("ONE", BUTTON))
    yield click("square button 'TWO', the one not clicked yet", at=named("TWO", BUTTON))


@page("unicode-test")
def _unicode(see: Seen) -> Calls:
    name = see.quoted[0]
    yield click(f'button labeled "{name}"', f"'{name}' button", at=named(name, BUTTON))


@page("click-link")
def _click_link(see: Seen) -> Calls:
    name = see.quoted[0]
    yield click(
        f"underlined blue link '{name}' in the paragraph",
        f"'{name}' link",
        at=named(name, "link", "static"),
    )


@page("buy-ticket")
def _buy_ticket(see: Seen) -> Calls:
    best = see.word(r"the (\w+ \w+)\.")
    prices = [int(t.split("$")[1]) for t in see.texts() if t.startswith("Book for $")]
    spans = [t for t in see.texts() if re.fullmatch(r"\d+h \d+m", t)]
    minutes = [int(t.split("h")[0]) * 60 + int(t.split()[1][:-1]) for t in spans]
    values = prices if "cost" in best else minutes
    index = values.index(max(values) if best.startswith(("most", "longest")) else min(values))
    price = prices[index]
    yield click(
        f"orange 'Book for ${price}' button of the {ORDINAL[index]} ticket "
        f"(duration {spans[index]})",
        f"'Book for ${price}' button",
        at=named(f"Book for ${price}", BUTTON),
    )


@page("click-dialog")
def _click_dialog(see: Seen) -> Calls:
    yield click(
        "close button 'x' at the top right corner of the dialog box",
        "the small square button with an x mark in the dialog's title bar",
        at=named("Close"),
    )


@page("click-dialog-2")
def _click_dialog_2(see: Seen) -> Calls:
    name = see.quoted[0]
    if name == "x":
        yield click("X (close) button in the top right corner of the dialog", at=named("Close"))
    else:
        yield click(
            f"'{name}' button at the bottom right of the dialog box", at=named(name, BUTTON)
        )


@page("search-engine")
def _search_engine(see: Seen) -> Calls:
    index = int(see.word(r"the (\d+)\w\w search result")) - 1
    yield typed(
        "empty search text box at the top, above the 'Search' button",
        text=see.quoted[0],
        at=field(),
    )
    yield click("grey 'Search' button below the text box", at=named("Search", BUTTON))
    for _ in range(index // 3):
        yield click(
            "'>' (next page) link in the pagination at the bottom of the results", at=named(">")
        )
    titles = [t for t in see.texts("link") if t not in ("<", ">") and not t.isdigit()]
    title = titles[index % 3]
    yield click(
        f"title link '{title}' of the {ORDINAL[index % 3]} search result on this page",
        f"'{title}' link in the search results",
        at=named(title),
    )


@page("phone-book")
def _phone_book(see: Seen) -> Calls:
    who = see.word(r"Find (\S+) in")
    what = "Phone" if "phone" in see.task else "Email" if "email" in see.task else "Address"
    for _ in range(4):
        if see.shows(who):
            break
        yield click(
            "'>' link (next contact) at the bottom, right of the page number", at=named(">")
        )
    yield click(
        f"blue link to the right of '{what}:' in {who}'s contact card",
        f"the underlined {what.lower()} link in the line that starts with '{what}:'",
        at=nth(("Phone", "Email", "Address").index(what), "link"),
    )


@page("odd-or-even")
def _odd_or_even(see: Seen) -> Calls:
    numbers = [e for e in see.on_page() if re.fullmatch(r"-?\d+", e.name.strip())]
    rows = {round(e.box.centre.y / 20): e.name.strip() for e in numbers}
    for index, (_, number) in enumerate(sorted(rows.items())):
        answer = "Odd" if int(number) % 2 else "Even"
        side = "left" if answer == "Odd" else "right"
        row = ORDINAL[index]
        yield click(
            f"'{answer}' button to the {side} of '{number}' in the {row} row",
            f"{row} '{answer}' button from the top",
            at=_nth_named(answer, index),
        )
    yield submit("'Submit' button at the bottom, below the rows of numbers")


def _nth_named(name: str, index: int) -> Truth:
    all_of = named(name, BUTTON)
    return lambda elements: all_of(elements)[index : index + 1]


@page("generate-number")
def _generate_number(see: Seen) -> Calls:
    for _ in range(12):
        yield click("'Generate' button in the middle of the page", at=named("Generate", BUTTON))
        number = int(see.find(r"^(\d+)$"))
        if _fits(see.task, number):
            break
    yield submit("'Submit' button (below 'Generate')")


def _fits(task: str, number: int) -> bool:
    if found := re.search(r"(less|greater) than (\d+)", task):
        limit = int(found[2])
        return number < limit if found[1] == "less" else number > limit
    return number % 2 == ("odd" in task)
