"""Changes the slides of a presentation: order, layout, background, notes and size."""

from __future__ import annotations

from typing import Any

import uno  # type: ignore[import-not-found]

from .impress_places import (
    describe_shape,
    fill,
    number_of,
    place,
    select_slide,
    select_slides,
    shapes,
    slides,
)
from .office_bridge import Desk, Refused, changes, looks, works
from .writer_looks import color, shown_color
from .writer_parts import graphic
from .writer_ranges import excerpt, note_of

__all__ = ["FUNCTIONS"]

_LAYOUTS = {
    "title_slide": 0, "title_content": 1, "two_content": 3, "title_only": 19, "blank": 20,
    "centered_text": 32,
}  # fmt: skip
_SIZES = {"16:9": (28.0, 15.75), "4:3": (28.0, 21.0), "A4": (29.7, 21.0), "16:10": (28.0, 17.5)}


@looks("impress")
def overview(desk: Desk) -> str:
    """Lists the slides with what is on them, and says which one is in front."""
    document, every = desk.document, slides(desk)
    state = "has unsaved changes" if document.isModified() else "has no unsaved changes"
    first = every[0]
    size = f"{first.Width / 1000:.2f} x {first.Height / 1000:.2f} cm"
    masters = document.MasterPages
    names = ", ".join(masters.getByIndex(at).Name for at in range(masters.Count))
    lines = [
        f"“{document.Title}”: {note_of(len(every), 'slide')}, {size}; "
        f"{document.URL or 'not saved yet'}; {state}; slide "
        f"{number_of(desk, desk.controller.CurrentPage)} is in front; masters: {names}"
    ]
    for at, slide in enumerate(every, 1):
        lines.append(f"slide {at}{_describe_marks(slide)}:")
        lines += [
            f"  {describe_shape(number, shape)}" for number, shape in enumerate(shapes(slide), 1)
        ]
    return "\n".join(lines)


def _describe_marks(slide: Any) -> str:
    layout = next((name for name, at in _LAYOUTS.items() if at == slide.Layout), slide.Layout)
    marks = [f"layout {layout}", *(["hidden"] if not slide.Visible else [])]
    marks += [f"transition type {slide.TransitionType}"] if slide.TransitionType else []
    marks += ["has notes"] if _read_notes(slide) else []
    return f" ({', '.join(marks)})"


@looks("impress")
def read(desk: Desk, slide: str) -> str:
    """Returns all text of slides, with notes and tables."""
    lines = []
    for page in select_slides(desk, slide):
        lines.append(f"slide {number_of(desk, page)}{_describe_marks(page)}:")
        for at, shape in enumerate(shapes(page), 1):
            lines.append(describe_shape(at, shape))
            if shape.ShapeType == "com.sun.star.drawing.TableShape":
                lines += _list_cells(shape.Model)
            elif "\n" in getattr(shape, "String", ""):
                lines += [f"    {line}" for line in shape.String.split("\n")]
        if _read_notes(page):
            lines.append(f"notes: {_read_notes(page)}")
    return "\n".join(lines)


def _list_cells(model: Any) -> list[str]:
    return [
        "    "
        + " | ".join(
            model.getCellByPosition(column, row).String for column in range(model.ColumnCount)
        )
        for row in range(model.RowCount)
    ]


def _find_notes(slide: Any) -> Any:
    """Returns the shape for notes of a slide; None if it has none yet."""
    for shape in shapes(slide.NotesPage):
        if shape.ShapeType == "com.sun.star.presentation.NotesShape":
            return shape
    return None


def _read_notes(slide: Any) -> str:
    place_ = _find_notes(slide)
    return "" if place_ is None else str(place_.String)


@changes("impress", "Insert slide")
def add(desk: Desk, at: int, layout: str, title: str, content: str) -> str:
    """Inserts a slide at a position, with title and content if given.

    Args:
        desk: LibreOffice, with the presentation in front.
        at: the new slide's number, from 1; 0: the last.
        layout: the layout, one of `_LAYOUTS`.
        title: the text of its title; empty: none.
        content: its points, one per line; empty: none.
    """
    every = slides(desk)
    if at > len(every) + 1:
        raise Refused(f"there are {len(every)} slides; a new one can be 1 to {len(every) + 1}")
    number = at or len(every) + 1
    desk.controller.CurrentPage = every[max(0, number - 2)]
    desk.dispatch(".uno:InsertPage")  # which undo reverts, unlike `insertNewByIndex`
    now = slides(desk)
    if len(now) != len(every) + 1:
        raise Refused(f"there are still {len(every)} slides")
    slide = now[max(1, number - 1)]
    _lay_out(desk, slide, layout)
    if number == 1:
        _move(desk, slide, 1)
    for word, text in (("title", title), ("content", content)):
        if text:
            fill(slide, word, text)
    desk.controller.CurrentPage = slide
    return f"slide {number_of(desk, slide)} of {len(slides(desk))}{_describe_marks(slide)} is there"


def _lay_out(desk: Desk, slide: Any, name: str) -> None:
    """Sets a layout by the menu's command, which undo reverts as a whole."""
    desk.controller.CurrentPage = slide
    desk.dispatch(".uno:AssignLayout", WhatLayout=_LAYOUTS[name])
    if slide.Layout != _LAYOUTS[name]:
        raise Refused(f"the layout is {slide.Layout} after setting it to {name}")


@changes("impress", "Duplicate slide")
def duplicate(desk: Desk, slide: str) -> str:
    """Copies a slide; the copy comes after it."""
    source = select_slide(desk, slide)
    before = len(slides(desk))
    desk.controller.CurrentPage = source
    desk.dispatch(".uno:DuplicatePage")  # which undo reverts, unlike `duplicate`
    if len(slides(desk)) != before + 1:
        raise Refused(f"there are still {before} slides")
    number = number_of(desk, source)
    return f"slide {number + 1} is a copy of slide {number}; {before + 1} slides now"


@changes("impress", "Delete slide")
def delete(desk: Desk, slides_: str) -> str:
    """Deletes slides."""
    picked = select_slides(desk, slides_)
    before = len(slides(desk))
    if len(picked) == before:
        raise Refused("a presentation has at least one slide")
    for page in picked:
        desk.document.DrawPages.remove(page)
    return f"{note_of(len(picked), 'slide')} deleted; {len(slides(desk))} of {before} are left"


@changes("impress", "Move slide")
def move(desk: Desk, slide: str, to: int) -> str:
    """Moves a slide to another number.

    Args:
        desk: LibreOffice, with the presentation in front.
        slide: one slide, as `select_slide` takes it.
        to: its new number, from 1.
    """
    target = select_slide(desk, slide)
    if not 1 <= to <= len(slides(desk)):
        raise Refused(f"there is no place {to}; there are 1 to {len(slides(desk))}")
    before = number_of(desk, target)
    _move(desk, target, to)
    return f"slide {before} is now slide {number_of(desk, target)}"


def _move(desk: Desk, slide: Any, to: int) -> None:
    """Moves a slide by the menu's commands: UNO has no function for it."""
    desk.controller.CurrentPage = slide
    for _ in slides(desk):
        now = number_of(desk, slide)
        if now == to:
            return
        desk.dispatch(".uno:MovePageUp" if now > to else ".uno:MovePageDown")
    if number_of(desk, slide) != to:
        raise Refused(f"the slide is number {number_of(desk, slide)}, not {to}, after moving it")


@changes("impress", "Slide layout")
def layout(desk: Desk, slides_: str, name: str) -> str:
    """Gives slides a layout.

    Args:
        desk: LibreOffice, with the presentation in front.
        slides_: one slide or several, as `select_slides` takes them.
        name: the layout, one of `_LAYOUTS`.
    """
    picked = select_slides(desk, slides_)
    for page in picked:
        _lay_out(desk, page, name)
    first = f"slide {number_of(desk, picked[0])}{_describe_marks(picked[0])}"
    return f"{note_of(len(picked), 'slide')}; {first}"


@works("impress")
def show(desk: Desk, slide: str) -> str:
    """Brings a slide to the front of the window."""
    desk.controller.CurrentPage = select_slide(desk, slide)
    return f"slide {number_of(desk, desk.controller.CurrentPage)} is in front"


@changes("impress", "Slide background")
def background(desk: Desk, slides_: str, color_: str, image: str) -> str:
    """Sets the background of slides: a colour, a picture, or that of the master again.

    Args:
        desk: LibreOffice, with the presentation in front.
        slides_: one slide or several, as `select_slides` takes them.
        color_: a colour as `color` takes it; without it and an image: the master's.
        image: path of a picture, which goes before the colour; empty: none.
    """
    picked = select_slides(desk, slides_)
    number = color(color_) if color_ else -1
    picture = graphic(desk, image) if image else None
    for page in picked:
        if picture is None and number == -1:
            page.Background = None
            continue
        ground = desk.document.createInstance("com.sun.star.drawing.Background")
        if picture is not None:
            ground.FillStyle = uno.Enum("com.sun.star.drawing.FillStyle", "BITMAP")
            ground.FillBitmap = picture
        else:
            ground.FillStyle = uno.Enum("com.sun.star.drawing.FillStyle", "SOLID")
            ground.FillColor = number
        page.Background = ground
    ground = picked[0].Background
    style = "that of the master" if ground is None else ground.FillStyle.value.lower()
    shade = f" {shown_color(ground.FillColor)}" if style == "solid" else ""
    return f"{note_of(len(picked), 'slide')}; the background is {style}{shade}"


@changes("impress", "Slide size")
def size(desk: Desk, format_: str) -> str:
    """Sets the size of all slides; what is on them stays where it is."""
    wide, high = _SIZES[format_]
    pages = desk.document.MasterPages
    masters = [pages.getByIndex(at) for at in range(pages.Count)]
    for page in [*masters, *slides(desk)]:
        page.Width, page.Height = round(wide * 1000), round(high * 1000)
    first = slides(desk)[0]
    return f"slides are now {first.Width / 1000:.2f} x {first.Height / 1000:.2f} cm"


@changes("impress", "Speaker notes")
def notes(desk: Desk, slide: str, text: str) -> str:
    """Writes the speaker's notes of a slide.

    Args:
        desk: LibreOffice, with the presentation in front.
        slide: one slide, as `select_slide` takes it.
        text: the whole new notes.
    """
    target = select_slide(desk, slide)
    holder = _find_notes(target)
    if holder is None:
        holder = desk.document.createInstance("com.sun.star.presentation.NotesShape")
        page = target.NotesPage
        page.add(holder)
        tenth, half = page.Width / 10_000, page.Height / 2000
        place(holder, (tenth, half, 8 * tenth, 0.8 * half))
    holder.String = text
    return f"notes of slide {number_of(desk, target)}: {excerpt(_read_notes(target), 200)}"


@changes("impress", "Header and footer")
def footer(
    desk: Desk, slides_: str, text: str | None, number: bool | None, date: bool | None
) -> str:
    """Shows or hides a footer, slide numbers or the date on slides.

    Args:
        desk: LibreOffice, with the presentation in front.
        slides_: one slide or several, as `select_slides` takes them.
        text: the footer's text; "": no footer; None: as it is.
        number: whether slide numbers are shown; None: as it is.
        date: whether today's date is shown; None: as it is.
    """
    picked = select_slides(desk, slides_)
    for page in picked:
        if text is not None:
            page.FooterText, page.IsFooterVisible = text, bool(text)
        if number is not None:
            page.IsPageNumberVisible = number
        if date is not None:
            page.IsDateTimeVisible, page.IsDateTimeFixed = date, False
    first = picked[0]
    footer_text = excerpt(first.FooterText) if first.IsFooterVisible else "none"
    numbered, dated = _on_off(first.IsPageNumberVisible), _on_off(first.IsDateTimeVisible)
    marks = f"slide number {numbered}, date {dated}"
    return f"{note_of(len(picked), 'slide')}; footer {footer_text}, {marks}"


def _on_off(value: bool) -> str:
    return "on" if value else "off"


FUNCTIONS = {
    "overview": overview, "read": read, "add": add, "duplicate": duplicate, "delete": delete,
    "move": move, "layout": layout, "show": show, "background": background,
    "size": size, "notes": notes,
    "footer": footer,
}  # fmt: skip
