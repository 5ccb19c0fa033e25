# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a vLLM server says of itself: its metrics, and the requests in its log.

Source: vllm/v1/metrics/loggers.py of vLLM 0.17 to 0.32, and uvicorn's access log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from . import _environment

# Each with the names that releases have given it, the present one first.
_METRICS = {
    "running": ("vllm:num_requests_running",),
    "waiting": ("vllm:num_requests_waiting",),
    "requests": ("vllm:request_success_total",),
    "prompt_tokens": ("vllm:prompt_tokens_total",),
    "generation_tokens": ("vllm:generation_tokens_total",),
    "kv_cache_usage": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
}
_SAMPLE = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{.*\})? (?P<value>[^ ]+)")
# What the entry point of the containers says of a program that ends again and again.
_GAVE_UP = re.compile(r"samewire: gave up after \d+ starts")
_PAUSE = re.compile(r"samewire: (start \d+ of \d+, in \d+ s)")
_REQUEST = re.compile(r'"POST /v1/\S+ HTTP/[\d.]+" (?P<status>\d{3})')


def metrics(text: str) -> dict[str, float | None]:
    """Return counts of requests and tokens, and the used part of the KV cache (0 to 1).

    text: what /metrics gave, of which samples that differ by label are added up. What is not there is None.
    """
    sums: dict[str, float] = {}
    for line in text.splitlines():
        found = _SAMPLE.match(line)
        if found:
            sums[found["name"]] = sums.get(found["name"], 0.0) + _number(found["value"])
    return {
        key: next((sums[name] for name in names if name in sums), None)
        for key, names in _METRICS.items()
    }


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def last_request(stamped: Iterable[str]) -> dict[str, object] | None:
    """Return time and HTTP status of the last request to the API, None where the log shows none.

    stamped: lines of the log, each after the time that Docker gave it.
    """
    for line in reversed(list(stamped)):
        found = _REQUEST.search(line)
        if found:
            return {"at": f"{line.partition(' ')[0][:19]}Z", "status": int(found["status"])}
    return None


def gave_up(lines: Iterable[str]) -> bool:
    """Return whether the entry point of a container starts its program no more; lines: its last ones."""
    return any(_GAVE_UP.search(line) for line in lines)


def pause(lines: Iterable[str]) -> str | None:
    """Return which start the entry point waits for, as `start 5 of 10, in 80 s`; lines: its last ones."""
    last = list(lines)[-1:]
    found = _PAUSE.search(last[0]) if last else None
    return found[1] if found else None


def local_url(host: str, port: int, *, tls: bool = False) -> str:
    """Return where a server answers on its own host; host: the address on which it listens."""
    address = host.strip("[]")
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104
    return _environment.url(address, port, tls=tls)


def gpus(text: str) -> list[dict[str, object]]:
    """Return index, name, used and total memory in MiB of each GPU.

    text: what `nvidia-smi --query-gpu=index,name,memory.used,memory.total --format=csv,noheader,nounits`
    printed. GPUs that share the host's memory have no numbers of their own; theirs are None.
    """
    rows = [[part.strip() for part in line.split(",")] for line in text.splitlines()]
    return [
        {
            "index": int(row[0]),
            "name": row[1],
            "memory_used_mib": int(row[2]) if row[2].isdigit() else None,
            "memory_total_mib": int(row[3]) if row[3].isdigit() else None,
        }
        for row in rows
        if len(row) == 4 and row[0].isdigit()
    ]
