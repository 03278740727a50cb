"""What the text documents must hold; runs on the machine."""

import pathlib
import xml.etree.ElementTree as tree

TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
PRINT = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}print-orientation"


def document(name: str) -> tree.Element:
    """Returns the root of a flat text document."""
    return tree.parse(pathlib.Path.home() / "Documents" / name).getroot()


def letter_is_right() -> bool:
    """Tell whether the first paragraph is a heading and the footer has the page number."""
    root = document("letter.fodt")
    heading = root.find(f".//{TEXT}h")
    first = heading is not None and "Contoso report" in "".join(heading.itertext())
    return first and root.find(f".//{STYLE}footer//{TEXT}page-number") is not None


def prices_are_right() -> bool:
    """Tell whether the table holds the prices, and the page is a landscape."""
    root = document("prices.fodt")
    rows = [
        ["".join(cell.itertext()).strip() for cell in row.iter(f"{TABLE}table-cell")]
        for row in root.iter(f"{TABLE}table-row")
    ]
    wide = any(
        each.get(PRINT) == "landscape" for each in root.iter(f"{STYLE}page-layout-properties")
    )
    return wide and rows == [["Item", "Price"], ["Tea", "3"], ["Cake", "4"], ["Rice", "2"]]
