# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How an image goes from one host to another: in pieces by layer, in frames, between two who know a token."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import struct
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable

# A frame is its kind, the length of what follows in four bytes, and that.
DATA, WAIT, END, FAILED = b"d", b"w", b"e", b"f"
_FRAME = struct.Struct("!cI")
_LONGEST = 1 << 24

PIECE = 1 << 20
# A tar file ends with two empty blocks.
_TAIL = bytes(1024)
_DESCRIPTION = re.compile(r"([0-9a-f]{64})/json")


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    """Return a frame."""
    return _FRAME.pack(kind, len(payload)) + payload


def payloads(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the data of the frames up to the last one, and nothing for each sign of life.

    read: returns that many bytes, or fewer at the end of the connection.

    Raises:
        EOFError: The connection ended before the last frame did, or the other side failed, in its words.
    """
    while True:
        head = read(_FRAME.size)
        if len(head) < _FRAME.size:
            raise EOFError("the connection ended")
        kind, size = _FRAME.unpack(head)
        payload = read(min(size, _LONGEST))
        if len(payload) < size:
            raise EOFError("the connection ended")
        if kind == FAILED:
            raise EOFError(payload.decode(errors="replace"))
        if kind == END:
            return
        yield payload


def seal(token: str, *said: object) -> str:
    """Return what only those can say who know the token."""
    return hmac.new(token.encode(), json.dumps(said).encode(), "sha256").hexdigest()


def prove(token: str, given: str, *said: object) -> None:
    """Raise ValueError unless a seal is that of the token and of what was said."""
    if not hmac.compare_digest(given.encode(), seal(token, *said).encode()):
        raise ValueError("it does not know the token of this transfer")


def pieces(saved: Any, layers: Sequence[str]) -> Iterator[tuple[str | None, bytes]]:
    """Yield the tar file of `docker save` in pieces, each with the layer that it is of.

    The layer is None where the piece is of none, and where it cannot be told. saved: a file that is read
    once, from its beginning; layers: diff ids of the image, the lowest first.

    Docker names the files of layers by their diff ids since version 25; before by an id that it computes from
    a description which stands before the file.
    """
    chains = dict(zip(_chains(layers), layers))
    known = {f"blobs/{layer.replace(':', '/')}": layer for layer in layers}
    with tarfile.open(fileobj=saved, mode="r|", bufsize=PIECE) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            layer = known.get(member.name)
            yield layer, member.tobuf(tarfile.GNU_FORMAT)
            left = member.size if content else 0
            while content and left:
                piece = content.read(min(left, PIECE))
                if not piece:
                    raise EOFError("the image ended before its end")
                if (described := _DESCRIPTION.fullmatch(member.name)) and left == member.size:
                    found = _described(described[1], piece, chains)
                    known |= {f"{described[1]}/layer.tar": found} if found else {}
                left -= len(piece)
                yield layer, piece
            if content:
                yield layer, bytes(-member.size % tarfile.BLOCKSIZE)
    yield None, _TAIL


def _chains(layers: Sequence[str]) -> list[str]:
    """Return the ids of the chains of layers that end with each; source: the OCI image specification."""
    found: list[str] = []
    for layer in layers:
        text = f"{found[-1]} {layer}" if found else layer
        found.append(f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if found else layer)
    return found


def _described(name: str, text: bytes, chains: Mapping[str, str]) -> str | None:
    """Return the layer whose description this is; source: moby, image/v1/imagev1.go, CreateID."""
    try:
        content = json.loads(text)
        del content["id"]
    except (ValueError, KeyError, TypeError):
        return None
    if "parent" in content:
        content["parent"] = f"sha256:{content['parent']}"
    # The system is added to lower layers only after their id was made.
    bare = {key: value for key, value in content.items() if key != "os"}
    for chain, layer in chains.items():
        for each in (bare, content):
            if _go_digest({**each, "layer_id": chain}) == name:
                return layer
    return None


def _go_digest(content: Mapping[str, Any]) -> str:
    """Return SHA-256 of what Go writes of a map, whose keys it sorts, of values as they were."""
    text = json.dumps(
        {key: content[key] for key in sorted(content)}, separators=(",", ":"), ensure_ascii=False
    )
    # Go escapes these for HTML.
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return hashlib.sha256(text.encode()).hexdigest()


class Packer:
    """Compresses a stream, or passes it on as it is; Docker tells one from the other by itself."""

    def __init__(self, compress: bool) -> None:
        self._gzip = zlib.compressobj(1, zlib.DEFLATED, 31) if compress else None

    def pack(self, data: bytes) -> bytes:
        """Return what is to be sent now; it may be nothing yet."""
        return data if self._gzip is None else self._gzip.compress(data)

    def end(self) -> bytes:
        """Return what is still to be sent."""
        return b"" if self._gzip is None else self._gzip.flush()


def is_packed(data: bytes) -> bool:
    """Whether a stream that begins so is compressed; source: RFC 1952."""
    return data.startswith(b"\x1f\x8b")
