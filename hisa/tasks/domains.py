"""Which domain a task belongs to, guessed from the words of its instruction."""

from __future__ import annotations

import re

__all__ = ["guess_domain"]

_WORDS: dict[str, tuple[str, ...]] = {
    "calc": ("spreadsheet", "calc", "excel", "worksheet", "cell", "xlsx", "pivot"),
    "text_editor": ("text editor", "mousepad", "gedit", "notepad", "text file"),
    "browser": ("browser", "chromium", "chrome", "firefox", "web page", "website", "url"),
    "terminal": ("terminal", "shell", "command line", "bash"),
    "jupyter": ("jupyter", "notebook"),
    "writer": ("writer", "document", "docx", "paragraph"),
    "files": ("folder", "file manager", "directory"),
}


def guess_domain(instruction: str) -> str:
    """The domain whose words occur most often; "general" where none does."""
    text = instruction.lower()
    counts = {
        domain: sum(len(re.findall(rf"\b{re.escape(word)}s?\b", text)) for word in words)
        for domain, words in _WORDS.items()
    }
    best = max(counts, key=lambda domain: counts[domain])
    return best if counts[best] else "general"
