"""Pages of a shop; FOLDER has ``orders.db`` and ``shop.html``: python3 shop.py FOLDER PORT."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

_STATUSES = ("new", "paid", "sent", "cancelled")
_FIELDS = ("customer", "item", "quantity", "status", "gift", "due", "note")


def _field(name: str, value: str, kind: str = "text") -> str:
    ticked = f'value="yes"{" checked" if value else ""}'
    shown = ticked if kind == "checkbox" else f'value="{escape(value)}"'
    return f'<p><label>{name.title()}: <input type="{kind}" name="{name}" {shown}></label></p>'


def _choice(name: str, values: Iterable[str], chosen: str) -> str:
    options = (f"<option{' selected' * (one == chosen)}>{escape(one)}</option>" for one in values)
    return f"<p><label>{name.title()}: <select name={name}>{''.join(options)}</select></label></p>"


def _form(to: str, inner: str, button: str, method: str = "post") -> str:
    return f'<form method="{method}" action="{to}">{inner}<button>{button}</button></form>'


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
    lines = ["".join(f"<th>{head}</th>" for head in heads), *cells]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


class Shop(BaseHTTPRequestHandler):
    """A page for each address; a form is answered by the list that it changed."""

    folder = Path()

    def ask(self, line: str, values: Sequence[str | None] = ()) -> list[tuple[str, ...]]:
        """The rows of a line of SQL, which is carried out at once."""
        with contextlib.closing(sqlite3.connect(self.folder / "orders.db")) as base, base:
            return [tuple(map(str, row)) for row in base.execute(line, values)]

    def do_GET(self) -> None:
        """Show the page of an address."""
        address = urlsplit(self.path)
        page, _, which = address.path.strip("/").partition("/")
        which = which or dict(parse_qsl(address.query)).get("show", "all")
        pages = {"order": self._order, "customers": self._customers, "settings": self._settings}
        body = pages.get(page, self._orders)(which) if page in ("", *pages) else ""
        head = (self.folder / "shop.html").read_text("utf-8")
        self._answer(200 if body else 404, head + (body or "<h1>No such page</h1>"))

    def do_POST(self) -> None:
        """Take a form."""
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 100_000))
        sent = dict(parse_qsl(body.decode("utf-8", "replace")))
        page, _, which = self.path.strip("/").partition("/")
        if page == "delete":
            self.ask("DELETE FROM orders WHERE id = ?", [which])
        elif page == "order":
            row = [None if which == "new" else which, *(sent.get(name, "") for name in _FIELDS)]
            self.ask("INSERT OR REPLACE INTO orders VALUES (?,?,?,?,?,?,?,?)", row)
        elif page == "customers" and sent.get("name"):
            row = [sent["name"], sent.get("city", "")]
            self.ask("INSERT OR REPLACE INTO customers VALUES (?, ?)", row)
        elif page == "settings":
            for name in ("shop", "currency", "mail"):
                self.ask("REPLACE INTO settings VALUES (?, ?)", [name, sent.get(name, "")])
        self._answer(303, "", {"delete": "/", "order": "/"}.get(page, self.path))

    def _orders(self, wanted: str) -> str:
        names = ("id", *_FIELDS[:4], "due")
        shown = []
        for which, *cells in self.ask(f"SELECT {','.join(names)} FROM orders ORDER BY id"):
            if wanted in ("all", cells[3]):
                delete = _form(f"/delete/{which}", "", f"Delete {which}")
                link = f'<a href="/order/{which}">Order {which}</a>'
                shown.append([link, *map(escape, cells), delete])
        shows = _form("/", _choice("show", ("all", *_STATUSES), wanted), "Filter", "get")
        return "<h1>Orders</h1>" + shows + _table(("Order", *map(str.title, names[1:]), ""), shown)

    def _order(self, which: str) -> str:
        rows = self.ask(f"SELECT {','.join(_FIELDS)} FROM orders WHERE id = ?", [which])
        rows = [("", "", "1", "new", "", "", "")] if which == "new" else rows
        if not rows:
            return ""
        customer, item, quantity, status, gift, due, note = rows[0]
        names = [name for (name,) in self.ask("SELECT name FROM customers ORDER BY name")]
        inner = _choice("customer", names, customer) + _field("item", item)
        inner += _field("quantity", quantity, "number") + _choice("status", _STATUSES, status)
        inner += (
            _field("gift", gift, "checkbox") + _field("due", due, "date") + _field("note", note)
        )
        return f"<h1>Order {escape(which)}</h1>" + _form(f"/order/{which}", inner, "Save order")

    def _customers(self, _: str) -> str:
        rows = self.ask("SELECT name, city FROM customers ORDER BY name")
        adding = _form("/customers", _field("name", "") + _field("city", ""), "Add customer")
        return (
            "<h1>Customers</h1>"
            + _table(("Name", "City"), (map(escape, row) for row in rows))
            + adding
        )

    def _settings(self, _: str) -> str:
        currency, mail, shop = (row[1] for row in self.ask("SELECT * FROM settings ORDER BY name"))
        inner = _field("shop", shop) + _field("mail", mail, "checkbox")
        inner += _choice("currency", ("EUR", "GBP", "USD"), currency)
        return "<h1>Settings</h1>" + _form("/settings", inner, "Save settings")

    def _answer(self, code: int, page: str, to: str = "") -> None:
        self.send_response(code)
        self.send_header("Location", to)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page.encode())


if __name__ == "__main__":
    Shop.folder = Path(sys.argv[1])
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Shop).serve_forever()
