"""Pictures, links, notes, comments, bookmarks and tracked changes of a text document."""

from __future__ import annotations

import datetime
import os
from typing import Any

import uno  # type: ignore[import-not-found]

from .files_common import path_of
from .office_bridge import Desk, Refused, Unchanged, changes, setting, works
from .writer_looks import hundredths
from .writer_ranges import enum, excerpt, named, note_of, place_of_its_own, places
from .writer_text import comment_fields, tracked

__all__ = ["FUNCTIONS", "graphic", "size_of"]

_PIXELS_AN_INCH = 96
_ANCHORS = {"paragraph": "AT_PARAGRAPH", "character": "AS_CHARACTER", "page": "AT_PAGE"}
_WRAPS = {"none": "NONE", "both": "DYNAMIC", "through": "THROUGH"}
_SIDES = {"left": 3, "center": 2, "right": 1}


def graphic(desk: Desk, path: str) -> Any:
    """Returns the picture of a file.

    Raises:
        Refused: there is none.
    """
    file = path_of(path)
    if not file.is_file():
        raise Refused(f"there is no file {str(file)!r}")
    provider = desk.service("com.sun.star.graphic.GraphicProvider")
    found = provider.queryGraphic((setting("URL", uno.systemPathToFileUrl(os.fspath(file))),))
    if found is None:
        raise Refused(f"{str(file)!r} is no picture that LibreOffice knows")
    return found


def size_of(picture: Any, width: float | None, height: float | None) -> tuple[int, int]:
    """Returns width and height in hundredths of a millimetre; one alone keeps the proportions."""
    own = picture.Size100thMM
    wide, high = own.Width, own.Height
    if not wide or not high:
        pixels = picture.SizePixel
        wide, high = (
            round(each * 2540 / _PIXELS_AN_INCH) for each in (pixels.Width, pixels.Height)
        )
    if width and height:
        return hundredths(width), hundredths(height)
    if width:
        return hundredths(width), round(hundredths(width) * high / wide)
    if height:
        return round(hundredths(height) * wide / high), hundredths(height)
    return wide, high


def _size(wide: int, high: int) -> Any:
    size = uno.createUnoStruct("com.sun.star.awt.Size")
    size.Width, size.Height = wide, high
    return size


@changes("writer", "Insert picture")
def image_insert(
    desk: Desk,
    path: str,
    before: int,
    *,
    width_cm: float | None,
    height_cm: float | None,
    anchor: str,
    align: str,
    wrap: str,
    description: str,
) -> str:
    """Inserts the picture of a file, kept in the document."""
    picture = graphic(desk, path)
    shape = desk.document.createInstance("com.sun.star.text.TextGraphicObject")
    shape.AnchorType = enum("text.TextContentAnchorType", _ANCHORS[anchor])
    shape.Graphic = picture
    shape.Size = _size(*size_of(picture, width_cm, height_cm))
    cursor = place_of_its_own(desk, before)
    cursor.Text.insertTextContent(cursor, shape, False)
    shape.Surround = enum("text.WrapTextMode", _WRAPS[wrap])
    if align:
        shape.HoriOrient = _SIDES[align]
    if description:
        shape.Title = description
    if shape.Name not in desk.document.GraphicObjects.ElementNames:
        raise Refused("the picture is not in the document")
    return f"picture {shape.Name} is there, {shape.Width / 1000:.2f} x {shape.Height / 1000:.2f} cm"


@changes("writer", "Change picture")
def image_change(
    desk: Desk,
    picture: str,
    *,
    width_cm: float | None,
    height_cm: float | None,
    align: str,
    wrap: str,
    delete: bool,
) -> str:
    """Changes size and place of a picture, or deletes it."""
    shape = named(desk.document.GraphicObjects, picture, "picture")
    if delete:
        shape.Anchor.Text.removeTextContent(shape)
        left = desk.document.GraphicObjects.ElementNames
        return f"the picture is gone; there are {', '.join(left) or 'none'}"
    if width_cm or height_cm:
        now = shape.Width / shape.Height
        wide = hundredths(width_cm) if width_cm else round(hundredths(height_cm or 0) * now)
        high = hundredths(height_cm) if height_cm else round(wide / now)
        shape.Size = _size(wide, high)
    if align:
        shape.HoriOrient = _SIDES[align]
    if wrap:
        shape.Surround = enum("text.WrapTextMode", _WRAPS[wrap])
    return f"{shape.Name} is now {shape.Width / 1000:.2f} x {shape.Height / 1000:.2f} cm"


@changes("writer", "Hyperlink")
def hyperlink(desk: Desk, text: str, url: str, paragraphs: str, occurrence: int) -> str:
    """Makes a text that is there a link; without an address it is none any more."""
    found = places(desk, paragraphs, text, occurrence=occurrence)
    for each in found:
        each.HyperLinkURL = url
    now = found[0].HyperLinkURL
    return f"{note_of(len(found), 'place')} {excerpt(text)}: {now or 'no link'}"


@changes("writer", "Insert note")
def footnote(desk: Desk, text: str, note: str, endnote: bool, paragraphs: str) -> str:
    """Inserts a footnote or an endnote behind a text."""
    (place, *_) = places(desk, paragraphs, text)
    kind = "Endnote" if endnote else "Footnote"
    made = desk.document.createInstance(f"com.sun.star.text.{kind}")
    place.Text.insertTextContent(place.End, made, False)
    made.String = note
    label = made.Anchor.String
    return f"{kind.lower()} {label} behind {excerpt(text)}: {excerpt(made.String)}"


@changes("writer", "Insert comment")
def comment(desk: Desk, text: str, comment: str, author: str, paragraphs: str) -> str:
    """Puts a comment on a text."""
    (place, *_) = places(desk, paragraphs, text)
    made = desk.document.createInstance("com.sun.star.text.textfield.Annotation")
    made.Content, made.Author = comment, author
    now, stamp = datetime.datetime.now(), uno.createUnoStruct("com.sun.star.util.DateTime")
    stamp.Year, stamp.Month, stamp.Day = now.year, now.month, now.day
    stamp.Hours, stamp.Minutes, stamp.Seconds = now.hour, now.minute, now.second
    made.DateTimeValue = stamp
    cursor = place.Text.createTextCursorByRange(place.Start)
    cursor.gotoRange(place.End, True)
    place.Text.insertTextContent(cursor, made, True)
    count = len(comment_fields(desk.document))
    return f"comment on {excerpt(text)}: {excerpt(made.Content)}; {note_of(count, 'comment')} now"


@changes("writer", "Delete comments")
def delete_comments(desk: Desk, number: int) -> str:
    """Deletes a comment by the number that the overview tells, or all."""
    found = comment_fields(desk.document)
    if not found:
        return Unchanged("there is no comment")
    if number > len(found):
        raise Refused(f"there are {note_of(len(found), 'comment')}, no number {number}")
    for each in found if not number else [found[number - 1]]:
        each.Anchor.Text.removeTextContent(each)
    return f"{note_of(len(comment_fields(desk.document)), 'comment')} left of {len(found)}"


@changes("writer", "Bookmark")
def bookmark(desk: Desk, name: str, text: str, paragraphs: str, delete: bool) -> str:
    """Sets a bookmark on a text, or deletes one."""
    marks = desk.document.Bookmarks
    if delete:
        mark = named(marks, name, "bookmark")
        mark.Anchor.Text.removeTextContent(mark)
        return f"bookmark {name} is gone"
    if marks.hasByName(name):
        raise Refused(f"there is a bookmark {name!r} already")
    (place, *_) = places(desk, paragraphs, text)
    mark = desk.document.createInstance("com.sun.star.text.Bookmark")
    mark.Name = name
    place.Text.insertTextContent(place, mark, True)
    return f"bookmark {mark.Name} is on {excerpt(mark.Anchor.String)}"


_RECORDING = {"on": True, "off": False}


@works("writer")
def track_changes(desk: Desk, action: str) -> str:
    """Turns tracking on or off, lists what was tracked, accepts or rejects all of it."""
    document = desk.document
    if action in _RECORDING:
        document.RecordChanges = _RECORDING[action]
        return f"changes are {'' if document.RecordChanges else 'not '}being tracked"
    found = list(tracked(document))
    if action == "list":
        lines = (
            f"{each.RedlineType} by {each.RedlineAuthor}: {excerpt(_changed(each))}"
            for each in found
        )
        return "\n".join([note_of(len(found), "tracked change"), *lines])
    verb = action.partition("_")[0].capitalize()
    desk.dispatch(f".uno:{verb}AllTrackedChanges")
    left = len(list(tracked(document)))
    return f"{note_of(len(found) - left, 'tracked change')} {verb.lower()}ed, {left} left"


def _changed(redline: Any) -> str:
    start, end = redline.RedlineStart, redline.RedlineEnd
    cursor = start.Text.createTextCursorByRange(start)
    cursor.gotoRange(end, True)
    return str(cursor.String)


FUNCTIONS = {
    "image_insert": image_insert, "image_change": image_change, "hyperlink": hyperlink,
    "footnote": footnote, "comment": comment, "delete_comments": delete_comments,
    "bookmark": bookmark, "track_changes": track_changes,
}  # fmt: skip
