"""Pages of a shop; FOLDER has ``orders.db`` and ``shop.html``: python3 shop.py FOLDER PORT."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from urllib.parse import parse_qsl, urlsplit

_STATUSES = ("new", "paid", "sent", "cancelled")
_FIELDS = ("customer", "item", "quantity", "status", "gift", "due", "note")


def _choice(name: str, values: Iterable[str], chosen: str) -> str:
    options = (f"<option{' selected' * (value == chosen)}>{value}</option>" for value in values)
    return f"<p><label>{name.title()}: <select name={name}>{''.join(options)}</select></label></p>"


class Shop(BaseHTTPRequestHandler):
    """A page for each address; a form is answered by the list that it changed."""

    folder = Path()

    def ask(self, line: str, values: Sequence[str | None] = ()) -> list[dict[str, str]]:
        """The rows of a line of SQL, which is carried out at once; their texts as HTML."""
        with contextlib.closing(sqlite3.connect(self.folder / "orders.db")) as base, base:
            base.row_factory = sqlite3.Row
            rows = [dict(row) for row in base.execute(line, values)]
        return [{name: escape(str(value)) for name, value in row.items()} for row in rows]

    def do_GET(self) -> None:
        """Show the page of an address."""
        address = urlsplit(self.path)
        page, _, which = address.path.strip("/").partition("/")
        pages = {"order": self._order, "customers": self._customers, "settings": self._settings}
        wanted = which or dict(parse_qsl(address.query)).get("show", "all")
        body = pages.get(page, self._orders)(wanted) if page in ("", *pages) else ""
        self._answer(200 if body else 404, self._part("head") + (body or self._part("none")))

    def do_POST(self) -> None:
        """Take a form."""
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 100_000))
        sent = dict(parse_qsl(body.decode("utf-8", "replace")))
        page, _, which = self.path.strip("/").partition("/")
        if page == "delete":
            self.ask("DELETE FROM orders WHERE id = ?", [which])
        elif page == "order":
            row = [None if which == "new" else which, *(sent.get(name, "") for name in _FIELDS)]
            self.ask("REPLACE INTO orders VALUES (?,?,?,?,?,?,?,?)", row)
        elif page == "customers" and sent.get("name"):
            self.ask("REPLACE INTO customers VALUES (?, ?)", [sent["name"], sent.get("city", "")])
        for name in ("shop", "currency", "mail") if page == "settings" else ():
            self.ask("REPLACE INTO settings VALUES (?, ?)", [name, sent.get(name, "")])
        self._answer(303, "", {"delete": "/", "order": "/"}.get(page, self.path))

    def _part(self, name: str, /, **values: str) -> str:
        """A part of the template file, filled in."""
        parts = (self.folder / "shop.html").read_text("utf-8").split("<!-- ")
        part = next(part for part in parts if part.startswith(f"{name} -->"))
        return Template(part.partition("-->")[2]).substitute(values)

    def _orders(self, wanted: str) -> str:
        orders = self.ask("SELECT * FROM orders ORDER BY id")
        rows = [self._part("row", **o) for o in orders if wanted in ("all", o["status"])]
        show = _choice("show", ("all", *_STATUSES), wanted)
        return self._part("orders", show=show, rows="".join(rows))

    def _order(self, which: str) -> str:
        new = {"id": "new", **dict.fromkeys(_FIELDS, ""), "quantity": "1", "status": "new"}
        known = self.ask("SELECT * FROM orders WHERE id = ?", [which])
        people = self.ask("SELECT name FROM customers ORDER BY name")
        for row in [new] if which == "new" else known:
            row["customer"] = _choice("customer", (one["name"] for one in people), row["customer"])
            row["status"] = _choice("status", _STATUSES, row["status"])
            return self._part("order", **row | {"gift": " checked" * bool(row["gift"])})
        return ""

    def _customers(self, _: str) -> str:
        rows = self.ask("SELECT * FROM customers ORDER BY name")
        return self._part("customers", rows="".join(self._part("customer", **r) for r in rows))

    def _settings(self, _: str) -> str:
        now = {row["name"]: row["value"] for row in self.ask("SELECT * FROM settings")}
        now["currency"] = _choice("currency", ("EUR", "GBP", "USD"), now["currency"])
        return self._part("settings", **now | {"mail": " checked" * bool(now["mail"])})

    def _answer(self, code: int, page: str, to: str = "") -> None:
        self.send_response(code)
        for header in (("Location", to), ("Content-Type", "text/html; charset=utf-8")):
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(page.encode())


if __name__ == "__main__":
    Shop.folder = Path(sys.argv[1])
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Shop).serve_forever()
