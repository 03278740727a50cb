"""Finds secrets by their own shape, or by their place in an address.

Every expression here is for text as it is written. Lengths are limited, so that the time for a
hostile text is proportional to its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hisa.text.redact.names import Span

__all__ = ["SHAPES", "aws", "pem", "query", "urls"]

_PREFIXES = (
    *("sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glagent-", "gloas-"),
    *("xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxe.", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"),
    *("hf_", "api_org_", "npm_", "pypi-", "rubygems_", "dckr_pat_", "dckr_oat_", "ATBB", "ATATT3"),
    *("AIza", "ya29.", "GOCSPX-", "1//0", "gsk_", "xai-", "r8_", "pplx-", "nvapi-", "tvly-"),
    *("dop_v1_", "doo_v1_", "dor_v1_", "lin_api_", "ntn_", "sbp_", "shpat_", "shpss_", "figd_"),
    *("hvs.", "hvb.", "NRAK-", "glsa_", "glc_", "pscale_tkn_", "pscale_pw_", "PMAK-", "dp.pt."),
    *("HRKU-", "shpca_", "shppa_", "sq0csp-", "sq0atp-", "FLWSECK", "CLOJARS_", "xkeysib-"),
    *("xsmtpsib-", "pul-", "key-", "secret_", "EAAA", "EAACEdEose0cBA", "LTAI", "AKCp", "re_"),
    *("sntrys_", "sntryu_", "AGE-SECRET-KEY-1", "dapi", "SG.", "lsv2_pt_", "lsv2_sk_", "tskey-"),
)
"""Beginnings by which keys and tokens are recognised."""
_TAILS = {
    "dapi": r"[a-f0-9]{32}",
    "pul-": r"[a-f0-9]{40}",
    "key-": r"[a-z0-9]{32}(?![A-Za-z0-9-])",  # Mailgun
    "secret_": r"[A-Za-z0-9]{43}",  # Notion
    "EAAA": r"[\w-]{60,64}",  # Square
    "EAACEdEose0cBA": r"[A-Za-z0-9]{8,400}",
    "LTAI": r"[A-Za-z0-9]{12,20}(?![A-Za-z0-9])",  # Alibaba
    "AKCp": r"[A-Za-z0-9]{60,80}",  # Artifactory
    "re_": r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}",  # Resend
    "SG.": r"[\w-]{16,200}\.[\w-]{16,200}",
    "hf_": r"[A-Za-z0-9]{16,200}",
    "r8_": r"[A-Za-z0-9]{30,200}",
    "1//0": r"[\w-]{30,200}",
    "sk-": r"[A-Za-z0-9_-]{16,400}",
}


def _begins(start: str, inside: str = "A-Za-z0-9") -> str:
    """Returns an expression for ``start`` at the beginning of a word.

    The check of what is before it comes after it, so that a search begins with letters.
    """
    return rf"{start}(?<![{inside}]{start})"


def _build_prefix_pattern(prefix: str) -> str:
    tail = _TAILS.get(prefix, r"[A-Za-z0-9_.+/=-]{16,4096}")
    return _begins(re.escape(prefix)) + tail


_COMMANDS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("sshpass",), "sshpass", "-p ?"),
    (("mysql", "mariadb"), r"(?:mysql|mariadb)\w*", "-p"),
    (("docker login", "podman login"), r"(?:docker|podman) login", "(?:-p|--password)[ =]"),
    (("redis-cli",), "redis-cli", "(?:-a|--pass) "),
    (("mongo",), r"mongo\w*", "-p "),
    (("ldap",), r"ldap\w+", "-w "),
    (("openssl",), "openssl", "-[kK] "),
    (("zip",), "(?:un)?zip", "-P "),
    (("7z",), r"7z\w?", "-p"),
    (("mosquitto",), r"mosquitto_\w+", "-P "),
    (("plink", "pscp"), "(?:plink|pscp)", "-pw "),
    (("xfreerdp",), r"xfreerdp\d?", "/p:"),
    (("htpasswd",), r"htpasswd\s{1,9}-\w*b\w*\s{1,9}\S{1,200}", r"[\w.-]{1,80}\s{1,9}"),
    (("net user",), "net user", r"\w[\w.-]{0,80}\s{1,9}(?=\S{1,200}\s{1,9}/add)"),
)
"""What has to be in a text, a command, and what stands in it right before its password."""


def _after_flag(program: str, flag: str) -> str:
    value = r"[\"'\\]{0,17}([^\s\"'\\$-][^\s\"'\\]{2,199})"
    return rf"\b{program}\b(?:[^\n\v|;&]{{0,200}}?\s|\s{{0,9}}){flag}{value}"


SHAPES: tuple[tuple[tuple[str, ...], str], ...] = (
    *(((prefix.lower(),), _build_prefix_pattern(prefix)) for prefix in _PREFIXES),
    (
        ("eyj",),
        _begins("eyJ", r"\w-") + r"[\w-]{8,4096}\.[\w-]{8,8192}(?:\.[\w-]{0,4096}){1,3}",
    ),
    (("q~",), r"[\w.~-]{3}[0-9]Q~[\w.~-]{31,34}(?![\w~-])"),  # Azure
    (("==",), r"[A-Za-z0-9+/]{86}=="),  # Azure, storage
    (
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows)/([\w/-]{16,200})",
    ),
    (
        ("/api/webhooks/",),
        r"discord(?:app)?\.com/api/webhooks/\d{5,30}/([\w-]{20,200})",
    ),
    ((":aa",), r"(?<!\d)\d{8,10}:AA[\w-]{32,34}(?![\w-])"),  # Telegram
    (
        tuple(f"sk{digit}" for digit in "0123456789abcdef"),
        _begins("SK") + r"[a-f0-9]{32}(?![A-Za-z0-9])",
    ),  # Twilio
    (
        ("$1$", "$2", "$5$", "$6$", "$y$", "$apr1$", "$argon2"),  # hashes of passwords
        r"\$(?:1|2[abxy]|5|6|y|apr1|argon2(?:id|i|d))\$[./A-Za-z0-9$=,+]{20,400}",
    ),
    (
        ("mailgun", "mail", "api", "key"),
        r"(?<![\w-])[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])",
    ),
    (("-us",), r"(?<!\w)[a-f0-9]{32}-us\d{1,2}(?!\w)"),  # Mailchimp
    ((".atlasv1.",), r"\w{14}\.atlasv1\.[\w=-]{60,70}"),  # Terraform
    (("pat",), _begins("pat") + r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),  # Airtable
    (
        ("curl", "wget"),
        r"\s(?:-u|--user|--proxy-user|-U)[ =]?[\"'\\]{0,17}[^\s:\"'\\]{1,100}:([^\s\"'\\]{1,200})",
    ),
    (
        ("curl",),
        r"\bcurl\b[^\n\v]{0,400}?\s(?:-b|--cookie)[ =]?[\"'\\]{0,17}[\w.-]{1,80}="
        r"([^\n\v\"'\\]{3,400})",
    ),
    *((hints, _after_flag(program, flag)) for hints, program, flag in _COMMANDS),
    (
        ("smb", "rpcclient"),
        r"\s(?:-U|--user)[ =]?[\"'\\]{0,17}[^\s%\"'\\]{1,100}%([^\s\"'\\]{1,200})",
    ),
    (("openssl",), r"\s-pass(?:in|out)?\s{1,9}[\"'\\]{0,17}pass:([^\s\"'\\]{1,200})"),
    (
        ("chpasswd",),
        r"[\w.-]{1,40}:([^\s:\"'\\$]{3,200})[\"'\\]{0,17}\s{0,9}\|[^\n\v|]{0,40}\bchpasswd\b",
    ),
    (
        ("| sudo", "|sudo"),
        r"(?:echo|printf)\s{1,9}[\"'\\]{0,17}(?!password\b)([^\s\"'\\{$|]{3,200})[\"'\\]{0,17}"
        r"\s{0,9}\|\s{0,9}sudo\s[^\n\v|]{0,80}?-S",
    ),
    (
        ("sudo",),
        r"\bsudo\s[^\n\v|]{0,80}?-S[^\n\v|]{0,200}?<<<\s{0,9}[\"'\\]{0,17}([^\s\"'\\{$]{3,200})",
    ),
    (
        ("private-lines:",),
        r"Private-Lines: \d{1,4}((?:\s{1,16}[A-Za-z0-9+/=]{4,100}(?=\s|$)){1,400})",
    ),  # PuTTY
    (("login",), r"login\s{1,16}\S{1,200}\s{1,16}password\s{1,16}([^\s\"'\\]{1,200})"),  # .netrc
)
"""Expressions, each with texts in lower case without one of which it cannot match. The secret is
the first group of a match, or all of it if there is no group. They are compiled on first use."""

_AWS_ID = re.compile(r"A(?:KIA|SIA|BIA|CCA)(?<![A-Za-z0-9].{4})[A-Z0-9]{16}(?![A-Za-z0-9])")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_FRAME = r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_BETWEEN = r"(?:[\s\"'>|,\\…]|\.{3}|\[[^\]\n]{1,80}\])"
"""The text between the lines of a key: breaks, quotes, the mark of a cut."""
_PEM = re.compile(
    rf"(?:-----(?P<end>END {_FRAME})|-{{0,5}}\bBEGIN {_FRAME}"
    rf"(?:(?:[^-]|-(?!----)){{0,16384}}-----END {_FRAME}"
    # Without an end: text that looks like the head and the lines of a key.
    rf"|{_BETWEEN}{{0,80}}(?:[\w-]{{1,40}}: [^\n\v\\]{{1,100}}{_BETWEEN}{{1,80}}){{0,5}}"
    rf"(?:[A-Za-z0-9+/=]{{16,}}{_BETWEEN}{{0,80}}){{0,400}}[A-Za-z0-9+/=]*))"
)
_LINES_BACKWARDS = re.compile(
    r"[\s\"'>|,\\]{0,80}[A-Za-z0-9+/=]*[\s\"'>|,\\]{0,80}"
    r"(?:[A-Za-z0-9+/=]{16,}[\s\"'>|,\\]{1,80})*[A-Za-z0-9+/=]*"
)
_PEM_MOST = 16_384
"""Most characters of a private key with its frame."""
_URL_PASSWORD = re.compile(r"://[^\s/@:\"'<>]{0,256}:([^\s/\"'<>]{1,512})@")
_URL_TOKEN = re.compile(r"://([\w-]{20,512})@")
_QUERY = re.compile(
    r"[?&][\w.-]{0,60}?(?:key|token|secret|passw(?:or)?d|sig|signature|credential)[\w-]{0,30}="
    r"([^\s&\"'<>#\\]{3,4096})",
    re.IGNORECASE,
)


def aws(text: str) -> Iterator[Span]:
    """Yields key ids of AWS and, if there is one, secrets, which have no beginning of their own."""
    ids = [match.span() for match in _AWS_ID.finditer(text)]
    yield from ids
    for match in _AWS_SECRET.finditer(text) if ids else ():
        value = match[0]
        if any(c.islower() for c in value) and any(c.isupper() for c in value):
            yield match.span()


def urls(text: str) -> Iterator[Span]:
    """Yields passwords and tokens in addresses."""
    for pattern in (_URL_PASSWORD, _URL_TOKEN):
        yield from (match.span(1) for match in pattern.finditer(text))


def query(text: str) -> Iterator[Span]:
    """Returns keys in the query of an address, including signatures of signed addresses."""
    return (match.span(1) for match in _QUERY.finditer(text))


def pem(text: str) -> Iterator[Span]:
    """Yields private keys in PEM form, even if their beginning or end is missing."""
    last_end = 0
    for match in _PEM.finditer(text):
        start = match.start()
        if match["end"] is not None:
            before = text[max(last_end, start - _PEM_MOST) : start][::-1]
            lines = _LINES_BACKWARDS.match(before)
            start -= 0 if lines is None else lines.end()
        last_end = match.end()
        yield start, last_end
