"""How a model's server is reached: addresses with a query, proxies, certificates."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hisa.cli.findings import models as model_findings
from hisa.config import ModelSettings, Settings
from hisa.errors import ModelUnavailable
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import resolve
from hisa.models.profiles import find
from hisa.testing.model_server import FakeServer, Handler
from tests.models.support import ask, client

AZURE = "/openai/deployments/eyes"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
NOBODY = "127.0.0.1:9"
"""Where nothing listens."""


class _AnyPath(Handler):
    path_end = ""


class _AnyPathServer(FakeServer):
    handler = _AnyPath


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 with its key, signed by itself."""
    folder = tmp_path_factory.mktemp("tls")
    file = folder / "server.pem"
    key, signed = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=x",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            str(key),
            "-out",
            str(signed),
        ],
        check=True,
        capture_output=True,
    )
    file.write_text(key.read_text() + signed.read_text())
    return file


@pytest.fixture
def secure(certificate: Path) -> Iterator[FakeServer]:
    """A server over TLS."""
    server = FakeServer(then=lambda _: "fine")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    inner = server._server
    inner.socket = context.wrap_socket(inner.socket, server_side=True)
    with server:
        yield server


async def answer(url: str) -> str:
    model = client(url)
    try:
        return (await model.complete(ask())).text
    finally:
        await model.aclose()


def over_tls(server: FakeServer) -> str:
    return server.url.replace("http://", "https://")


@pytest.mark.parametrize("end", ["", "/", "/chat/completions"])
async def test_the_query_of_an_address_stays_at_the_end_of_the_path(end: str) -> None:
    with _AnyPathServer(then=lambda _: "fine") as server:
        base = f"{server.url.removesuffix('/v1')}{AZURE}{end}?api-version=2024-10-21"
        settings = ModelSettings(model="eyes", base_url=base)
        endpoint = resolve(settings, {"OPENAI_API_KEY": "key"})
        model = OpenAIModel(settings, endpoint, profile=find("eyes"))
        await model.complete(ask())
        await model.aclose()
    (sent,) = server.requests
    assert sent.path == "/openai/deployments/eyes/chat/completions?api-version=2024-10-21"
    assert sent.headers["api-key"] == "key"
    assert endpoint.address("models").endswith("/eyes/models?api-version=2024-10-21")


@pytest.mark.parametrize("proxy", [f"socks5://{NOBODY}", f"http://{NOBODY}", f"socks9://{NOBODY}"])
async def test_a_server_on_this_machine_ignores_proxies(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with FakeServer(then=lambda _: "fine") as server:
        assert await answer(server.url) == "fine"
        tree = {"models": {"planner": {"model": "fake", "base_url": server.url}}}
        findings = list(model_findings(Settings.model_validate(tree).models))
    assert all(finding.ok for finding in findings if finding.name == "planner"), findings


@pytest.mark.parametrize("scheme", ["socks5", "socks4"])
async def test_a_proxy_that_cannot_be_used_is_named(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scheme == "socks5":
        pytest.importorskip("httpx")
        try:
            import socksio  # type: ignore[import-not-found] # noqa: F401
        except ImportError:
            pass
        else:
            pytest.skip("socksio is installed, so that such a proxy works")
    monkeypatch.setenv("ALL_PROXY", f"{scheme}://me:secret-word@{NOBODY}")
    with pytest.raises(ModelUnavailable) as caught:
        client("https://models.example.com/v1")
    assert f"ALL_PROXY={scheme}://" in str(caught.value)
    assert NOBODY in str(caught.value)
    assert "secret-word" not in str(caught.value)
    assert "hisa install socks" in caught.value.fix
    assert caught.value.exit_code == 3


@pytest.mark.process
async def test_the_certificates_of_the_environment_hold_for_private_addresses(
    secure: FakeServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert await answer(over_tls(secure)) == "fine"
