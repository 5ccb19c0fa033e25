# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnose logs: files, folders and bundles of them, compressed or not; changes nothing."""

from __future__ import annotations

import codecs
import gzip
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ansible_collections.samewire.vllm.plugins.module_utils._diagnosis import Diagnosis, to_json

_GZIP = b"\x1f\x8b"
_SAMPLE = 8_192
_PIECE = 1 << 20
_WIDE = {
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "utf-8-sig",
}
# What a bundle holds beside logs: facts, plans and records describe, and are no messages.
_NO_LOGS = {".json", ".yml", ".yaml", ".html", ".py", ".whl", ".safetensors", ".bin", ".zip"}


class DiagnoseError(Exception):
    """Something that was given cannot be read as a log; the text is one sentence with the cure."""


def diagnose(paths: list[Path]) -> dict[str, Any]:
    """Diagnose files, folders and .tar.gz bundles; return the contract of `samewire diagnose --json`.

    Raises:
        DiagnoseError: a path is missing, unreadable, empty or no text.
    """
    diagnosis = Diagnosis()
    for path in paths:
        try:
            _read(diagnosis, path)
        except PermissionError as error:
            raise DiagnoseError(
                f"{error.filename or path}: may not be read; run as a user who may, or copy it"
            ) from None
        except (EOFError, gzip.BadGzipFile, tarfile.TarError) as error:
            raise DiagnoseError(f"{path}: is damaged ({error}); fetch it again") from None
        except OSError as error:
            raise DiagnoseError(f"{path}: cannot be read ({error.strerror or error})") from None
    return to_json(diagnosis.findings())


def report(result: dict[str, Any]) -> list[str]:
    """Return the diagnosis as lines for people: the cause first, with its remedy and evidence."""
    findings = result["findings"]
    if not findings:
        return ["No known fault in these logs."]
    lines = []
    for place, each in enumerate(findings):
        title = "Cause" if place == 0 else "Also"
        lines.append(f"{title}: {each['cause']} ({each['id']}, confidence {each['confidence']})")
        if place == 0:
            lines.append(f"Remedy: {each['remedy']}")
            if each["variable"]:
                lines.append(f"Variable: {each['variable']}")
            lines.append(f"See: {each['link']}")
        shown = each["evidence"] if place == 0 else each["evidence"][:1]
        lines += [f"  {seen['file']}:{seen['line']}: {seen['text']}" for seen in shown]
    return lines


def _read(diagnosis: Diagnosis, path: Path) -> None:
    if not path.exists():
        raise DiagnoseError(
            f"{path}: does not exist; give a log, a folder of logs or a .tar.gz bundle"
        )
    if path.is_dir():
        _read_folder(diagnosis, path)
    elif not path.is_file():
        raise DiagnoseError(f"{path}: is no file; give a log, a folder of logs or a .tar.gz bundle")
    elif path.stat().st_size == 0:
        raise DiagnoseError(f"{path}: is empty; give a log that has lines")
    elif tarfile.is_tarfile(path):
        _read_bundle(diagnosis, path)
    else:
        with path.open("rb") as raw, _inflated(raw) as stream:
            _read_stream(diagnosis, str(path), stream, strict=True)


def _read_folder(diagnosis: Diagnosis, folder: Path) -> None:
    files = [
        each
        for each in sorted(folder.rglob("*"))
        if each.is_file() and each.stat().st_size and each.suffix not in _NO_LOGS
    ]
    if not files:
        raise DiagnoseError(f"{folder}: has no logs in it; give the folder that holds them")
    for each in files:
        if tarfile.is_tarfile(each):
            continue
        with each.open("rb") as raw, _inflated(raw) as stream:
            _read_stream(diagnosis, str(each), stream, strict=False)


def _read_bundle(diagnosis: Diagnosis, path: Path) -> None:
    some = False
    with tarfile.open(path, "r:*") as bundle:
        for member in bundle:
            stream = bundle.extractfile(member) if member.isfile() and member.size else None
            if stream is None or Path(member.name).suffix in _NO_LOGS:
                continue
            with stream as raw, _inflated(raw) as opened:
                _read_stream(diagnosis, f"{path}/{member.name}", opened, strict=False)
                some = True
    if not some:
        raise DiagnoseError(f"{path}: has no logs in it; give the bundle that a failed run wrote")


@contextmanager
def _inflated(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    """Give the stream, unpacked where it is gzip."""
    packed = raw.read(len(_GZIP)) == _GZIP
    raw.seek(0)
    if packed:
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield unpacked  # type: ignore[misc]
    else:
        yield raw


def _read_stream(diagnosis: Diagnosis, name: str, stream: IO[bytes], *, strict: bool) -> None:
    """Read one log; what is no text is refused where it was asked for, and passed over in a folder."""
    sample = stream.read(_SAMPLE)
    stream.seek(0)
    encoding = next((each for mark, each in _WIDE.items() if sample.startswith(mark)), "utf-8")
    if b"\0" in sample and encoding == "utf-8":
        if strict:
            raise DiagnoseError(f"{name}: is binary; give a log, which is text")
        return
    diagnosis.read(name, _pieces(stream, encoding))


def _pieces(stream: IO[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the log in pieces, as UTF-8 where it is another encoding that can be told."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while piece := stream.read(_PIECE):
        yield piece if encoding == "utf-8" else decoder.decode(piece).encode()
