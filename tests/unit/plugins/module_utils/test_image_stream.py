# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""An image in pieces by layer, from both forms of `docker save`, and what goes between two hosts."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections import Counter

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _image_stream
from tests.unit.images import Image, layer, tarred

IMAGE = Image([layer("a", b"a" * 5000), layer("b", b"b" * 3_000_000), layer("c", b"")])
_CONFIG = (
    '{"Hostname":"","Domainname":"","User":"","AttachStdin":false,"AttachStdout":false,"AttachStderr":false,'
    '"Tty":false,"OpenStdin":false,"StdinOnce":false,"Env":null,"Cmd":null,"Image":"","Volumes":null,'
    '"WorkingDir":"","Entrypoint":null,"OnBuild":null,"Labels":null}'
)
# What Docker 20.10.24 wrote beside the lower layers of an image; the ids are its own.
OLD_LAYERS = [
    "sha256:e89ba463cc035fcffb67694a1014808762808aa4d5e8dee43d0daf648e63bbc8",
    "sha256:d928632d9547071f2f416554af399f21e422fd0969d1f667fa1497e08741e7e2",
    "sha256:da4892c22ee1056ff4b8386688c9d342cc51d21db06d320ece9e315b544371ff",
]
OLD_IDS = [
    "fbc9a70317f5e31887f4e7d66e30888d73bcf0372d480787079ad17d068639fb",
    "1d4a467c7043ce3ff60ba03521352049291ca76b955da8353347d941bc3674dc",
]
OLD_DESCRIPTIONS = [
    f'{{"id":"{OLD_IDS[0]}","created":"1970-01-01T00:00:00Z","container_config":{_CONFIG},"os":"linux"}}',
    f'{{"id":"{OLD_IDS[1]}","parent":"{OLD_IDS[0]}","created":"1970-01-01T00:00:00Z",'
    f'"container_config":{_CONFIG},"os":"linux"}}',
]


def split(saved: bytes, layers: list[str]) -> tuple[Counter[str | None], bytes]:
    """Return the bytes of each layer, and all in one."""
    sizes: Counter[str | None] = Counter()
    whole = b""
    for owner, piece in _image_stream.pieces(io.BytesIO(saved), layers):
        assert len(piece) <= _image_stream.PIECE
        sizes[owner] += len(piece)
        whole += piece
    return sizes, whole


def content(packed: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {
            member.name: (archive.extractfile(member) or io.BytesIO()).read() for member in archive
        }


def test_an_image_of_a_newer_docker() -> None:
    saved = IMAGE.saved("i:1")
    sizes, whole = split(saved, IMAGE.diff_ids)
    assert content(whole) == content(saved)
    for own, diff_id in zip(IMAGE.layers, IMAGE.diff_ids, strict=True):
        # Its file, and a header.
        assert sizes[diff_id] == 512 + len(own)


def test_an_image_of_an_older_docker() -> None:
    files: dict[str, bytes] = {}
    for name, text in zip(OLD_IDS, OLD_DESCRIPTIONS, strict=True):
        files |= {f"{name}/VERSION": b"1.0", f"{name}/json": text.encode()}
        files[f"{name}/layer.tar"] = name.encode() * 100
    unknown = "0" * 64
    files |= {f"{unknown}/json": b'{"id": 1}', f"{unknown}/layer.tar": b"of nobody"}
    saved = tarred(files)
    sizes, whole = split(saved, OLD_LAYERS)
    assert content(whole) == content(saved)
    assert set(sizes) == {None, *OLD_LAYERS[:2]}
    assert sizes[OLD_LAYERS[0]] == 512 + 6656


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id": "' + "0" * 64 + '"}', "\xff"])
def test_a_description_of_something_else(text: str) -> None:
    saved = tarred({f"{OLD_IDS[0]}/json": text.encode("latin-1"), f"{OLD_IDS[0]}/layer.tar": b"x"})
    assert set(split(saved, OLD_LAYERS)[0]) == {None}


def test_an_image_that_ends_early() -> None:
    saved = IMAGE.saved("i:1")
    with pytest.raises((EOFError, tarfile.ReadError)):
        split(saved[: len(saved) // 2], IMAGE.diff_ids)


def test_frames() -> None:
    sent = b"".join(
        [
            _image_stream.frame(_image_stream.DATA, b"one"),
            _image_stream.frame(_image_stream.WAIT),
            _image_stream.frame(_image_stream.DATA, b"two"),
            _image_stream.frame(_image_stream.END),
            b"not read",
        ]
    )
    assert list(_image_stream.payloads(io.BytesIO(sent).read)) == [b"one", b"", b"two"]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "the connection ended"),
        (_image_stream.frame(_image_stream.DATA, b"one"), "the connection ended"),
        (_image_stream.frame(_image_stream.DATA, b"one")[:-1], "the connection ended"),
        (b"d\xff\xff\xff\xff", "the connection ended"),
        (_image_stream.frame(_image_stream.FAILED, b"no such image"), "no such image"),
    ],
)
def test_a_stream_that_does_not_end_well(sent: bytes, said: str) -> None:
    with pytest.raises(EOFError, match=said):
        list(_image_stream.payloads(io.BytesIO(sent).read))


def test_seals() -> None:
    seal = _image_stream.seal("token", "send", "nonce", 3)
    _image_stream.prove("token", seal, "send", "nonce", 3)
    for other in (("tokem", "send", "nonce", 3), ("token", "receive", "nonce", 3)):
        with pytest.raises(ValueError, match="does not know the token"):
            _image_stream.prove(other[0], seal, *other[1:])
    with pytest.raises(ValueError, match="does not know the token"):
        _image_stream.prove("token", "", "send", "nonce", 3)


@pytest.mark.parametrize("compress", [True, False])
def test_packer(compress: bool) -> None:
    packer = _image_stream.Packer(compress)
    sent = b"".join([packer.pack(b"a" * 1000), packer.pack(b"b"), packer.end()])
    assert _image_stream.is_packed(sent) is compress
    assert (gzip.decompress(sent) if compress else sent) == b"a" * 1000 + b"b"
