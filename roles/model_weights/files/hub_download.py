# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Downloads a model of the hub into its cache: runs in a container of the deployment's image.

Large files go through the hub library's HTTP client into files of this program's own, since the library
itself begins anew after an interruption; it then finds them in its cache, and does the rest. The ref is
written last: with it the model counts as whole. Prints a JSON object a line: `progress`, or at the end
`problem`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import huggingface_hub
from huggingface_hub import errors, file_download

WORKERS = 8
PROGRESS_EVERY = 2.0
CHUNK = 8 << 20


def wanted(files: list[Any], exclude: list[str]) -> list[Any]:
    """Return the files of a repository that are to be downloaded."""
    return [
        each for each in files if not any(fnmatch(each.rfilename, pattern) for pattern in exclude)
    ]


def amount(size: int) -> str:
    """Return a number of bytes for people: GB, MB below one."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


class Download:
    """One revision of a model, on its way into the cache."""

    def __init__(self, model: str, commit: str, files: list[Any]) -> None:
        self.model = model
        self.commit = commit
        self.files = files
        name = f"models--{model.replace('/', '--')}"
        self.folder = Path(huggingface_hub.constants.HF_HUB_CACHE) / name

    def blob(self, file: Any) -> Path:
        """Return the blob of a file, which the hub names after its hash."""
        return self.folder / "blobs" / (file.lfs["sha256"] if file.lfs else file.blob_id)

    def part(self, file: Any) -> Path:
        blob = self.blob(file)
        return blob.with_name(f"{blob.name}.samewire")

    def arrived(self) -> int:
        """Return how many bytes are there."""
        return sum(
            min(file.size, path.stat().st_size)
            for file in self.files
            for path in (self.blob(file), self.part(file))
            if path.exists()
        )

    def fetch(self, file: Any) -> None:
        """Have one file in the cache."""
        if file.lfs and not self.blob(file).exists() and file.size <= _limit():
            self._fetch_large(file)
        huggingface_hub.hf_hub_download(self.model, file.rfilename, revision=self.commit)

    def _fetch_large(self, file: Any) -> None:
        part, sha256 = self.part(file), file.lfs["sha256"]
        part.parent.mkdir(parents=True, exist_ok=True)
        # A longer one is none of this file.
        if part.exists() and part.stat().st_size > file.size:
            part.unlink()
        with part.open("ab") as stream:
            file_download.http_get(
                huggingface_hub.hf_hub_url(self.model, file.rfilename, revision=self.commit),
                stream,
                resume_size=stream.tell(),
                headers=huggingface_hub.utils.build_hf_headers(),
                expected_size=file.size,
            )
        got = _sha256(part)
        if got != sha256:
            part.unlink()
            raise Damaged(file.rfilename, sha256, got)
        part.rename(self.blob(file))

    def finish(self, revision: str) -> None:
        """Write the ref, as the library does."""
        if revision != self.commit:
            ref = self.folder / "refs" / revision
            ref.parent.mkdir(parents=True, exist_ok=True)
            ref.write_text(self.commit)


class Damaged(Exception):
    """A file that arrived with another content than the hub names."""

    def __init__(self, name: str, expected: str, got: str) -> None:
        super().__init__(
            f"{name} arrived damaged: expected SHA-256 {expected[:12]}, got {got[:12]}; run again"
        )


def _limit() -> int:
    """Return the size up to which the hub serves files over plain HTTP."""
    return int(getattr(huggingface_hub.constants, "MAX_HTTP_DOWNLOAD_SIZE", 50_000_000_000))


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def say(**what: str) -> None:
    print(json.dumps(what), flush=True)


def run(asked: dict[str, Any], hint: str) -> str:
    """Download; return what went wrong, empty where nothing did."""
    endpoint = huggingface_hub.constants.ENDPOINT
    model, revision = asked["model"], asked["revision"]
    try:
        return _run(model, revision, asked["exclude"], asked["damaged"])
    except errors.GatedRepoError:
        return (
            f"{model} is gated, expected a token of an account that was granted access at "
            f"{endpoint}/{model}, got {hint}; set vllm_server_hf_token"
        )
    except errors.RevisionNotFoundError:
        return f"{model} has no revision {revision}; correct --revision in vllm_server_extra_args"
    except errors.RepositoryNotFoundError:
        return (
            f"the hub at {endpoint} has no model {model}, or shows it only to others, got {hint}; correct "
            "vllm_server_model or set vllm_server_hf_token"
        )
    except Damaged as damaged:
        return str(damaged)
    except Exception as error:  # noqa: BLE001
        # The library's HTTP client, and with it the type of its errors, differs between versions.
        reason = _first_line(_cause(error))
        return (
            f"downloading {model} from {endpoint} broke off ({reason}); what has arrived is kept, "
            "run again"
        )


def _cause(error: BaseException) -> BaseException:
    """Return what an error comes from: the library wraps it in advice."""
    while error.__cause__ is not None and str(error.__cause__).strip():
        error = error.__cause__
    return error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _run(model: str, revision: str, exclude: list[str], damaged: list[str]) -> str:
    info = huggingface_hub.HfApi().model_info(model, revision=revision, files_metadata=True)
    download = Download(model, info.sha, wanted(info.siblings, exclude))
    for name in damaged:
        (download.folder / name).unlink(missing_ok=True)
    total = sum(file.size for file in download.files)
    cache = download.folder.parent
    cache.mkdir(parents=True, exist_ok=True)
    needed, free = total - download.arrived(), shutil.disk_usage(cache).free
    if needed > free:
        return (
            f"{model} needs {amount(needed)} more, got {amount(free)} free on the disk of "
            "ray_node_hub_cache; make room, or set ray_node_hub_cache to another disk"
        )
    over = threading.Event()

    def report() -> None:
        while not over.wait(PROGRESS_EVERY):
            say(progress=f"downloading weights, {amount(download.arrived())} of {amount(total)}")

    reporter = threading.Thread(target=report)
    reporter.start()
    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(download.fetch, download.files))
    finally:
        over.set()
        reporter.join()
    download.finish(revision)
    say(progress=f"downloaded and verified {amount(total)} of weights")
    return ""


def main() -> int:
    """Return the exit code: 1 with a problem."""
    asked = json.loads(sys.argv[1])
    token_file = os.environ.get("HF_TOKEN_PATH", "")
    hint = "a token without it" if token_file and Path(token_file).exists() else "no token"
    problem = run(asked, hint)
    if problem:
        say(problem=problem)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
