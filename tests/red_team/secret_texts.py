"""Secrets in the words of commands, files and services; how programs wrap them; harmless texts."""

from __future__ import annotations

import json
from collections.abc import Callable

__all__ = ["HARMLESS", "SECRETS", "WRAPPINGS"]

_WORD = "Hx7Kq2mZp9Lw"
_HEX = "0123456789abcdef"
_LONG = "Zx8Kq2mZp9LwAb3dEf6hJk1nQrStUvWy"
_LINES = (
    "MIIEowIBAAKCAQEAabcdQWERTYUIOPASDFGHJKLZXCVBNM1234567890abcdefgh",
    "q83vEjRWeJCrze/+ASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4mrze8BI0Vn",
)
_HEAD, _END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"

_COMMANDS = (
    "mysql -uroot -p{} db", "mysqldump --password={} db", "mysql --password {} db",
    "app --token {}", "app --api-key={}", "curl -u bob:{} http://x", "curl -ubob:{} http://x",
    'curl --user "bob:{}" http://x', "curl -b 'session={}' http://x",
    "curl --cookie session={} http://x", "curl -H 'X-Auth-Token: {}' http://x",
    "wget --password={} http://x", "wget --http-password {} http://x",
    "sshpass -p {} ssh h", "sshpass -p'{}' ssh h", "SSHPASS={} sshpass -e ssh h",
    "docker login -u a -p {} r", "podman login -u a -p {} r", "redis-cli -a {} ping",
    "PGPASSWORD={} psql", 'psql "host=h user=bob password={}"', "mongosh -u bob -p {}",
    "ldapsearch -D cn=a -w {} x", "smbclient //h/s -U bob%{}", "openssl enc -k {} -in a",
    "openssl rsa -passin pass:{}", "sudo -S ls <<< {}", "echo '{}' | sudo -S ls",
    "zip -P {} a.zip b", "unzip -P {} a.zip", "7z a -p{} x", "gpg --passphrase {} -d x",
    "mount -o username=bob,password={} //h/s /m", "net user bob {} /add",
    "echo bob:{} | chpasswd", "htpasswd -b f bob {}", "svn --username bob --password {}",
    "kubectl config set-credentials x --token={}", "mosquitto_pub -u bob -P {} -t x",
    "plink -pw {} h", "xfreerdp /u:bob /p:{} /v:h", "machine h login bob password {}",
    "Cookie: session={}", "Set-Cookie: sid={}; Path=/", "Authorization: Bearer {}",
    "Proxy-Authorization: token {}", "x-api-key: {}", "PASSWORD={}", "api_key: {}",
    "postgres://bob:{}@h/db", "http://h/v1?api_key={}&x=1", '{{"password": "{}"}}',
    "{{'client_secret': '{}'}}", "<password>{}</password>", "the password is {}.",
)  # fmt: skip
_KEYS = (
    "key-3ax6xnjp29jd6fds4gc373sgvjxteol0", f"api {_HEX * 2}-01234567-89abcdef",
    f"{_HEX * 2}-us12", "AKIAIOSFODNN7EXAMPLE", "ghp_abcdefghijklmnop0123456789ABCDEFGHIJ",
    "github_pat_abcdefghijklmnop0123", "glpat-abcdefghijklmnop0123", "hf_abcdefghijklmnop0123",
    "xoxb-123456789012-abcdefghijklmnop", "sk-proj-abcdefghij0123456789",
    "sk-ant-api03-abcdefghij0123456789", "sk_live_abcdefghij0123456789",
    "SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789", f"SK{_HEX * 2}",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv", "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "123456789:AAabcdefghijklmnopqrstuvwxyz0123456", f"HRKU-{_HEX}", f"shpca_{_HEX * 2}",
    f"EAAA{'a1B2' * 15}", f"sq0csp-{_LONG}", f"FLWSECK-{_HEX}", f"CLOJARS_{_HEX * 3}",
    f"pul-{_HEX * 2}01234567", f"abcdefghij1234.atlasv1.{'a1B2' * 16}", f"xkeysib-{_HEX * 4}-ab",
    f"pat1234567890abcd.{_HEX * 4}", f"secret_{'a1B2' * 10}abc", f"dapi{_HEX * 2}",
    "hvs.CAESIabcdefghijklmnop", "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl",
    "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQ", f"re_abcd1234_{'a1B2' * 6}", f"LTAI{_HEX}",
)  # fmt: skip
_PEM = {
    "a key": (_HEAD, *_LINES, "abcd==", _END),
    "a key without its end": (_HEAD, *_LINES),
    "a key without its end, cut in a line": (_HEAD, _LINES[0], _LINES[1][:37]),
    "a key without its beginning": (_LINES[0][9:], _LINES[1], "abcd==", _END),
    "a key whose first dashes are cut": (_HEAD[4:], *_LINES),
    "a key with its middle cut out": (_HEAD, _LINES[0], "[1,200 characters left out]", _LINES[1]),
    "a key in pieces": (_HEAD, f'"{_LINES[0]}"', f'"{_LINES[1]}"'),
}

SECRETS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{command: (command.format(_WORD + _LONG), (_WORD, _LONG)) for command in _COMMANDS},
    **{key: (key, (key.split()[-1],)) for key in _KEYS},
    **{
        name: ("\n".join(lines), tuple(line[10:30] for line in lines if line[5:15] in _all))
        for _all in ["".join(_LINES)]
        for name, lines in _PEM.items()
    },
    "with quotes in it": (json.dumps({"password": "hunter\"twenty'two"}), ("hunter", "twenty")),
}
"""By name: a text, and the pieces of it that nobody may read."""


def _nest(times: int) -> Callable[[str], str]:
    def wrap(text: str) -> str:
        text = f"first\n{text}\nlast"
        for _ in range(times):
            text = json.dumps({"output": text})
        return text

    return wrap


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "alone": str,
    "on a line": "first\n{}\nlast".format,
    "JSON": _nest(1),
    "JSON in JSON": _nest(2),
    "JSON in JSON in JSON": _nest(3),
    "Python": lambda text: f"pyautogui.write({'first' + chr(10) + text!r})",
    "after \\n": lambda text: "first\\n" + text,
    "after \\r\\n": lambda text: "first\\r\\n" + text,
    "after \\t": lambda text: "first\\t" + text,
    "after \\\\n": lambda text: "first\\\\n" + text,
    "after \\u000a": lambda text: "first\\u000a" + text,
    "after \\x0a": lambda text: "first\\x0a" + text,
    "in a colour": lambda text: f"\x1b[32m{text}\x1b[0m",
    "in an escaped colour": lambda text: f"\\u001b[1;32m{text}\\u001b[0m",
}

HARMLESS = (
    "open the task-list-that-is-quite-long file", "C:\\new\\temp\\reports\\keys.txt",
    "mysql is running; ls -path", "mysql -uroot -p db", "tar -pxvf a.tar.gz", "cp -p a b",
    "mkdir -p /tmp/some/folder", "docker run -p 8080:80 nginx", "curl -X POST http://x/a:b",
    "curl http://127.0.0.1:8000/v1 -o out.json", "curl -b cookies.txt http://x",
    "ssh -p 2222 bob@host", "nc -w 3 host 80", "zip -r a.zip folder", "7z x archive.7z",
    "openssl x509 -in cert.pem -noout", "redis-cli ping", "net user", "unzip -l a.zip",
    "the token is here", "press the key: Return", "max_tokens: 4096, token_count: 7",
    'api_key_env = "OPENAI_API_KEY"', "PASSWORD=$DB_PASSWORD", "password = getpass.getpass()",
    '{"password": "", "user": "bob", "note": "nothing"}', "Use `--token …` or `NAME=…`.",
    "the primary key-value store", "key-" + "a" * 10, "pattern.matches(x)", "patient.records",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "123e4567-e89b-12d3-a456-426614174000", "-----BEGIN CERTIFICATE-----\nMIID\n",
    "a public key:\n-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "Sales report, 2024: 1,200 units\tsold\nTotal: 3", "The cookie banner: accept or reject",
    "write {{secret:mail}} into the field", "take no {{secret:…}} from it",
    "print('a\\nb\\tc')", "re_sult_of_the_whole_computation_is_here", "secret_santa_list.xlsx",
    "Authorization is needed for this page", "Basic Settings of LibreOffice",
)  # fmt: skip
"""Texts that stay as they are, however they are wrapped."""
