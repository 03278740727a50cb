"""Serves the pages beside it, and writes down what a form sends."""

import http.server
import pathlib
import urllib.parse


class Site(http.server.SimpleHTTPRequestHandler):
    """Pages, and the form."""

    def do_GET(self) -> None:
        """Answer with a page of a shop, or with a file."""
        shop = self.path.removeprefix("/shops/")
        if shop == self.path:
            super().do_GET()
        else:
            name = urllib.parse.quote(shop).title()
            self._page(f"<title>{name}</title><h1>{name} for everybody</h1>")

    def do_POST(self) -> None:
        """Write down what was sent, the fields in order."""
        told = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = sorted(urllib.parse.parse_qsl(told))
        pathlib.Path("sent.txt").write_text(urllib.parse.urlencode(fields))
        self._page("<title>Thanks</title><h1>Thank you</h1>")

    def _page(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(text.encode())


http.server.ThreadingHTTPServer(("127.0.0.1", 8765), Site).serve_forever()
