"""Values of secrets in all their forms: found, and their names put in their place."""

from __future__ import annotations

import base64
import json
import shlex
from urllib.parse import quote

import pytest

from hisa.events import Event, Noted
from hisa.models.profile import Profile
from hisa.models.role_model import CallContext, RoleModel
from hisa.protocols import Message, ModelRequest, TextPart
from hisa.testing import ScriptedModel
from hisa.text.redact import Redactor, holds_redacted
from hisa.text.redact.named_secrets import Scrubber, forms, placeholder

VALUE = "hunter2-Pa$$w0rd"
HOSTILE = "a'b\"c $d `e` $(touch /tmp/owned) \\ ;|& {{x}} ü*?~\n\tlast"


@pytest.mark.parametrize("value", [VALUE, HOSTILE, "geheim-ÄÖ7ü", "<a&b>'c\""])
def test_every_common_form_is_found(value: str) -> None:
    scrub = Scrubber({"mail": value})
    data = value.encode()
    shown = [
        value,
        json.dumps(value),
        json.dumps({"a": json.dumps({"b": value})}),
        repr(value),
        quote(value),
        quote(value, safe=""),
        shlex.quote(value),
        data.hex(),
        base64.b64encode(data).decode(),
        *(base64.b64encode(b"bob:x"[:n] + data + b"more").decode() for n in range(6)),
        "<p>" + value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") + "</p>",
    ]
    for text in shown:
        assert placeholder("mail") in scrub.text(f"before {text} after"), text
    for coding in ("utf-8", "utf-16-le", "utf-16-be"):
        assert value.encode(coding) not in scrub.data(b"x\0" + value.encode(coding) + b"\0y")
    assert scrub.text("nothing to see") == "nothing to see"


def test_cut_end_shows_no_beginning_of_a_value() -> None:
    scrub = Scrubber({"mail": VALUE})
    assert scrub.without_beginning(f"it is {VALUE[:-3]}") == "it is {{secret:mail}}"
    assert scrub.without_beginning("it is") == "it is"


@pytest.mark.parametrize(
    "text",
    [
        "pyautogui.write('{{secret:mail}}')",
        "curl -u bob:{{secret:mail}} https://example.org",
        "https://bob:{{secret:mail}}@example.org/?token={{secret:mail}}&x=1",
        "the password is '{{secret:mail}}'",
        "PASSWORD={{secret:mail}} Authorization: Bearer {{secret:mail}}",
        "mysql -p{{secret:mail}}; --password {{secret:mail}}; sshpass -p {{secret:mail}}",
    ],
)
def test_names_of_secrets_are_no_secrets_to_the_log(text: str) -> None:
    redactor = Redactor({})
    assert redactor.text(text) == text
    data = {"password": "{{secret:mail}}", "words": ["--token", "{{secret:mail}}", text]}
    assert redactor.data(data) == data


def test_log_puts_the_name_where_a_value_would_stand() -> None:
    redactor = Redactor({"MAIL_PASSWORD": VALUE})
    redactor.hide(Scrubber({"mail": VALUE}).shown)
    event = {"input": f"say {VALUE}", "json": json.dumps({"a": VALUE})}
    shown = redactor.data(event)
    assert shown["input"] == "say {{secret:mail}}"
    assert VALUE not in str(shown)
    assert not holds_redacted(shown)


async def test_model_neither_reads_nor_says_a_value() -> None:
    events: list[Event] = []
    inner = ScriptedModel([f'{{"input": "pyautogui.write({VALUE!r})"}}', "plain"])
    context = CallContext(events.append, secrets=Scrubber({"mail": VALUE}))
    model = RoleModel(inner, context, profile=Profile(name="any"))
    request = ModelRequest("planner", (Message("user", (TextPart(f"it says {VALUE}"),)),))
    reply = await model.complete(request)
    assert inner.requests[0].text == "it says {{secret:mail}}"
    assert reply.text == '{"input": "pyautogui.write(\'{{secret:mail}}\')"}'
    notes = [event.text for event in events if isinstance(event, Noted)]
    assert len(notes) == 2
    assert VALUE not in "".join(notes)
    plain = ModelRequest("state", (Message("user", (TextPart("hello"),)),))
    await model.complete(plain)
    assert inner.requests[1] == plain


def test_forms_of_a_short_value_do_not_damage_other_texts() -> None:
    assert min(map(len, forms("1234"))) >= 4
    assert Scrubber({"pin": "1234"}).text("a MTI pin of 12 34") == "a MTI pin of 12 34"


def test_a_value_that_comes_later_is_found_too() -> None:
    scrub = Scrubber({"mail": VALUE})
    assert scrub.text("Zebra-77") == "Zebra-77"
    shown = scrub.add("typed_1", "Zebra-77")
    assert shown["Zebra-77"] == "{{secret:typed_1}}"
    assert scrub.text(f"{VALUE} Zebra-77") == "{{secret:mail}} {{secret:typed_1}}"
    assert scrub.data(b"Zebra-77") == b"{{secret:typed_1}}"
