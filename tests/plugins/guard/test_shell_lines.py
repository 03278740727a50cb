"""Bash lines read into commands: what is found, what is not known, and what is not read.

Several of those that are not read are lines that bash and the grammar read otherwise.
"""

from __future__ import annotations

import pytest

from hisa.plugins.guard.policy.shell_lines import read_line


def list_commands(line: str) -> list[str]:
    """Each command's words; one that is not known has a ? behind it."""
    return [
        " ".join(word.text + "?" * (not word.known) for word in command.words)
        for command in read_line(line).commands
        if command.words
    ]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("ls; rm -rf x", ["ls", "rm -rf x"]),
        ("ls && rm x || rm y | rm z & rm q", ["ls", "rm x", "rm y", "rm z", "rm q"]),
        ("ls |& sh", ["ls", "sh"]),
        ("r''m x", ["rm x"]),
        ("r\\m x", ["rm x"]),
        ("# nothing \\\nrm x", ["rm x"]),
        ("echo hi # rm x", ["echo hi"]),
        ("echo 'a; rm b'", ["echo a; rm b"]),
        ("$X y", ["$X? y"]),
        ("r{m,} x", ["r{m,}? x"]),
        ("echo $(rm x)", ["rm x", "echo $(rm x)?"]),
        ('echo "$(echo "$(rm x)")"', ["rm x", 'echo "$(rm x)"?', 'echo "$(echo "$(rm x)")"?']),
        ("echo `rm x`", ["rm x", "echo `rm x`?"]),
        ("cat <(rm q) >(rm r)", ["rm q", "rm r", "cat <(rm q)? >(rm r)?"]),
        ("X=1 rm y", ["rm y"]),
        ("2>/dev/null rm z >out 2>&1", ["rm z"]),
        ("for f in *.txt; do rm a; done", ["rm a"]),
        ("if true; then rm x; else ls; fi", ["true", "rm x", "ls"]),
        ("{ rm x; }; (cd /; rm y)", ["rm x", "cd /", "rm y"]),
        ("cat > f <<'EOF'\nrm $x\nEOF\nls", ["cat", "ls"]),
        ("[ -f x ] && rm x", ["[ -f x ]", "rm x"]),
        ('rm ~/a "~/b" "$HOME/c" ${HOME}/d', ["rm ~/a ./~/b ~/c ~/d"]),
    ],
)
def test_commands_are_found(line: str, commands: list[str]) -> None:
    read = read_line(line)
    assert (list_commands(line), read.unread) == (commands, "")


@pytest.mark.parametrize(
    "line",
    [
        "a() { rm x; }",
        "$'rm' x",
        "((x=1))",
        "echo $((1+1))",
        "case a in a) rm x;; esac",
        "echo ${x:-$(rm y)}",
        "cat <<EOF\n$(rm x)\nEOF",
        "cat <<EOF\nno end",
        "ls >",
        "'",
        "echo \\",
        "echo `ls",
        "a=(1 2)",
        "[[ -f x ]]",
        "r\\\nm x",
        "rm %\n\\\n?x",
        "rm$IFS-rf$IFS/",
        "cat <<A <<B\na\nA\nb\nB\nrm x",
        "rm\u00a0x",
        "!{ rm x; }",
        "x\u00e9A=1",
        "rm -2>&1",
        "rm }\\A=",
        "ls >&x",
        "ls\0rm",
        "echo \ue000/x",
        ";".join(["ls"] * 300),
        "echo " + "a " * 20_000,
        "$(" * 70 + "rm" + ")" * 70,
    ],
)
def test_unread_lines_give_a_reason(line: str) -> None:
    assert read_line(line).unread


def test_redirections_and_assignments() -> None:
    (command,) = read_line("PATH=. X=1 tee a < in > out 2>> err 3<&1 >&-").commands
    assert command.assigned == ("PATH", "X")
    assert [(redirect.operator, redirect.target.text) for redirect in command.redirects] == [
        ("<", "in"),
        (">", "out"),
        (">>", "err"),
    ]
