from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.events import Acted, Grounded, ModelFailed, PlaceFound
from hisa.text.redact import Redactor, redact
from tests.test_safetext import ANY


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-proj-abcdefghij0123456789 bad", "key [redacted] bad"),
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer [redacted]"),
        ("http://me:hunter2@host/v1", "http://me:[redacted]@host/v1"),
        ("http://h/v1?api_key=abc123&x=1", "http://h/v1?api_key=[redacted]&x=1"),
        ('{"api_key": "abcdef123"}', '{"api_key": "[redacted]"}'),
        ("x-api-key: abcdef123", "x-api-key: [redacted]"),
        ("ghp_abcdefghijklmnop0123", "[redacted]"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2ln", "[redacted]"),
        (r"pyautogui.write('\nghp_abcdefghijklmnop0123\n')", r"pyautogui.write('\n[redacted]\n')"),
        (r"'a\nAKIAIOSFODNN7EXAMPLE'", r"'a\n[redacted]'"),
        ("DB_PASS=hunter22 make", "DB_PASS=[redacted] make"),
        ('"export PASSWORD=\\"hunter 2\\""', '"export PASSWORD=\\"[redacted]\\""'),
        ("the password is hunter2.", "the password is [redacted]."),
        ("mysql -u root -phunter2 db", "mysql -u root -p[redacted] db"),
        ("curl -u bob:hunter2 http://x", "curl -u bob:[redacted] http://x"),
        ("Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l", "Authorization: Basic [redacted]"),
        ("https://bob:p@ss!w0rd@db.host/app", "https://bob:[redacted]@db.host/app"),
        ("Cookie: session=abcdef1234; x=y", "Cookie: [redacted]"),
        ("<db:password>hunter22</db:password>", "<db:password>[redacted]</db:password>"),
        ("password\uff1ahunter22", "password\uff1a[redacted]"),
        ('network={psk="my wifi 1"}', 'network={psk="[redacted]"}'),
        ("the password for bob is hunter22", "the password for bob is [redacted]"),
        ("my API key is aB3xK9pQ7mZ2", "my API key is [redacted]"),
        ("the token is aB3xK9pQ7mZ2.", "the token is [redacted]."),
        ("docker login -u bob -p hunter22 host", "docker login -u bob -p [redacted] host"),
        ("echo 'hunter22' | sudo -S ls", "echo '[redacted]' | sudo -S ls"),
        (
            '{"auths": {"x": {"auth": "Ym9iOmh1bnRlcjI="}}}',
            '{"auths": {"x": {"auth": "[redacted]"}}}',
        ),
        (
            "Private-Lines: 1\nAAAAgQCb7xSrFm\nPrivate-MAC: 1",
            "Private-Lines: 1[redacted]\nPrivate-MAC: 1",
        ),
    ],
)
def test_secrets_of_known_shape(text: str, clean: str) -> None:
    assert redact(text, {}) == clean


@pytest.mark.parametrize(
    "text",
    [
        "open the task-list-that-is-quite-long file",
        "http://127.0.0.1:8000/v1 answered 500",
        "see https://example.org/a:b@c",
        "press the key: Return",
        "Basic Settings of LibreOffice Basic macros",
        "max_tokens: 4096, tokens_in=5, token_count: 7, passed: 5",
        'api_key_env = "OPENAI_API_KEY"',
        "PASSWORD=$DB_PASSWORD, password = getpass.getpass(), PWD=/home/user",
        "popen(line, pass_fds=[end], token=(first, second))",
        "cat token>file, if key -> value, the token is here, the secret is out",
        "the secret report_2024.xlsx, the token is ~/report_2024.csv",
        "echo password | sudo -S ls; echo {CLIENT_PASSWORD} | sudo -S ls",
        "author: bob, auth: none",
        "Enter the password in the password field (2)",
        "the compass: north, bypass=enabled, keyboard: us",
        "chromium --no-sandbox --password-store=basic",
        "pyautogui.write('[redacted]') # password: [redacted]",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text, {}) == text


@pytest.mark.parametrize("times", range(1, 6))
def test_a_name_in_json_within_json(times: int) -> None:
    text: object = {"password": "hunter 22"}
    for _ in range(times):
        text = json.dumps(text)
    assert "hunter" not in redact(str(text), {})


def test_values_of_secret_variables() -> None:
    environ = {"MY_API_KEY": "correct horse", "DB_PASSWORD": "battery7", "HOME": "/home/someone"}
    text = "correct horse, battery7, /home/someone"
    assert redact(text, environ) == "[redacted], [redacted], /home/someone"


def test_a_secret_that_holds_another_leaves_no_rest() -> None:
    environ = {"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefgh-ijkl"}
    assert redact("abcdefgh-ijkl", environ) == "[redacted]"


def test_short_values_are_words() -> None:
    assert redact("none of this", {"OPENAI_API_KEY": "none", "X_TOKEN": ""}) == "none of this"


@given(st.text(), st.text(min_size=8).filter(lambda value: len(value.strip()) >= 8), st.text())
def test_a_secret_never_comes_through(before: str, secret: str, after: str) -> None:
    # Text around it may make a secret of known shape that swallows the marker; never the value.
    marked = f"{secret.strip()}\x00unique"
    assert marked not in redact(before + marked + after, {"THE_SECRET": marked})


def test_every_text_of_an_event() -> None:
    redactor = Redactor({"APP_SECRET": "open sesame"})
    place = PlaceFound(description="the open sesame field", x=1, y=2)
    event = Grounded(places=(place,), input="pyautogui.write('open sesame')", seconds=0.5)
    clean = redactor.data(event)
    assert isinstance(clean, Grounded)
    assert clean.places[0].description == "the [redacted] field"
    assert clean.input == "pyautogui.write('[redacted]')"
    assert (clean.at, clean.seconds) == (event.at, 0.5)


def test_nested_input_of_a_tool() -> None:
    event = Acted(tool="plug", input={"a": ["open sesame", 3]}, ok=True)
    clean = Redactor({"APP_SECRET": "open sesame"}).data(event)
    assert clean.input == {"a": ["[redacted]", 3]}


def test_an_event_without_secrets_is_itself() -> None:
    event = ModelFailed(role="planner", model="m", kind="server", message="down")
    assert Redactor({}).data(event) is event


def test_fields_and_flags_of_structured_data() -> None:
    data = {
        "command": ["mysql", "--password", "letmein", "-u", "bob"],
        "clientSecret": "abc",
        "settings": {"password": "x", "max_tokens": 4096, "api_key_env": "OPENAI_API_KEY"},
    }
    assert Redactor({}).data(data) == {
        "command": ["mysql", "--password", "[redacted]", "-u", "bob"],
        "clientSecret": "[redacted]",
        "settings": {
            "password": "[redacted]",
            "max_tokens": 4096,
            "api_key_env": "OPENAI_API_KEY",
        },
    }


def test_redactor_remembers_a_named_secret() -> None:
    redactor = Redactor({})
    assert redactor.text("Log in as bob, password: hunter2x.") == (
        "Log in as bob, password: [redacted]."
    )
    assert redactor.text("pyautogui.write('hunter2x')") == "pyautogui.write('[redacted]')"
    assert redact("pyautogui.write('hunter2x')", {}) == "pyautogui.write('hunter2x')"


def test_a_plain_word_after_a_name_is_not_looked_for_elsewhere() -> None:
    redactor = Redactor({})
    redactor.text("password: Required")
    assert redactor.text("Required fields") == "Required fields"


def test_a_key_that_was_cut_at_either_end() -> None:
    lines = "MIIEowIBAAKCAQEAabcd\nqwertyqwerty1234ABab\nab=="
    cut_before = redact(f"{lines}\n-----END RSA PRIVATE KEY-----\nbye", {})
    cut_after = redact(f"hi\n-----BEGIN RSA PRIVATE KEY-----\n{lines}", {})
    assert (cut_before, cut_after) == ("[redacted]\nbye", "hi\n[redacted]")


def test_too_deep_nesting_is_redacted() -> None:
    nested: object = "sk-abcdefghij0123456789"
    for _ in range(300):
        nested = [nested]
    assert "sk-abcdef" not in str(Redactor({}).data(nested))


@pytest.mark.parametrize("value", ["/etc/passwd", "changeme", "aaaaaaaaaa", "short"])
def test_values_of_secret_variables_that_say_nothing(value: str) -> None:
    assert redact(f"see {value}", {"MY_TOKEN": value}) == f"see {value}"


def test_a_variable_with_any_name_can_be_named() -> None:
    redactor = Redactor({"HOUSE": "of the rising"}, {"HOUSE"})
    assert redactor.text("of the rising sun") == "[redacted] sun"


@given(ANY)
def test_written_twice_is_written_once(text: str) -> None:
    once = redact(text, {})
    once.encode()
    assert redact(once, {}) == once
