"""Takes secrets out of the bytes of a file, also out of files that are packed in it."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib

from hisa.text.redact.named_secrets import Scrubber

__all__ = ["Unsearchable", "scrub_file"]

_MOST_UNPACKED = 256 << 20
"""Most bytes of an archive's contents: twice the largest file that is read."""


class Unsearchable(ValueError):
    """A packed file that cannot be searched."""


def scrub_file(data: bytes, scrubber: Scrubber) -> bytes:
    """Returns a file's bytes with names in place of values; the same object if it has none.

    A zip archive, such as an office document, and a gzip file are packed again.

    Raises:
        Unsearchable: the contents are too large to unpack, or encrypted or broken.
    """
    try:
        if data[:4] == b"PK\x03\x04":
            data = _zip(data, scrubber)
        elif data[:2] == b"\x1f\x8b":
            data = _gzip(data, scrubber)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError, zlib.error):
        raise Unsearchable("a packed file that cannot be searched for secrets") from None
    return scrubber.data(data)


def _zip(data: bytes, scrubber: Scrubber) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > _MOST_UNPACKED:
            raise Unsearchable(f"an archive of more than {_MOST_UNPACKED >> 20} MB")
        old = [(member, archive.read(member)) for member in members]
    new = [(member, scrubber.data(held)) for member, held in old]
    if all(held is known or held == known for (_, held), (_, known) in zip(new, old, strict=True)):
        return data
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, held in new:
            archive.writestr(member, held)
    return packed.getvalue()


def _gzip(data: bytes, scrubber: Scrubber) -> bytes:
    with gzip.open(io.BytesIO(data)) as stream:
        old = stream.read(_MOST_UNPACKED + 1)
    if len(old) > _MOST_UNPACKED:
        raise Unsearchable(f"a packed file of more than {_MOST_UNPACKED >> 20} MB")
    new = scrubber.data(old)
    return data if new == old else gzip.compress(new, mtime=0)
