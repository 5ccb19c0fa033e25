# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A measurement of a deployed API: streamed completions, several at a time, for some seconds."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests

from samewire.api import Api, ApiError

SCHEMA = "samewire.bench/1"
# How long after the end a request may take to notice it.
GRACE_S = 2.0
# A server that refuses everything is not asked as often as it can refuse.
PAUSE_S = 0.2


@dataclass(frozen=True)
class Load:
    """What is asked of the server; tokens: of each answer."""

    seconds: float
    concurrency: int
    tokens: int


@dataclass
class Sample:
    """One request. arrived: when each piece of the answer came, in seconds since it was sent."""

    arrived: list[float] = field(default_factory=list)
    tokens: int = 0
    done: bool = False
    failure: str = ""


@dataclass(frozen=True)
class Spread:
    """Times in seconds, None where there was none."""

    median: float | None
    p95: float | None

    @classmethod
    def of(cls, times: Sequence[float]) -> Spread:
        """Return it for times in any order."""
        ordered = sorted(times)
        return cls(_at(ordered, 0.5), _at(ordered, 0.95))


@dataclass(frozen=True)
class Result:
    """What was measured; cut: requests that were under way at the end, whose tokens count."""

    seconds: float
    done: int
    failed: int
    cut: int
    tokens: int
    first_token: Spread
    between_tokens: Spread
    failures: tuple[tuple[str, int], ...]

    @property
    def tokens_per_second(self) -> float:
        """Output tokens of all requests together."""
        return self.tokens / self.seconds

    def to_json(self) -> dict[str, Any]:
        """Return it as an object, with times in seconds."""
        return {
            "seconds": self.seconds,
            "requests": {"done": self.done, "failed": self.failed, "cut": self.cut},
            "output_tokens": self.tokens,
            "output_tokens_per_second": self.tokens_per_second,
            "time_to_first_token_s": vars(self.first_token),
            "inter_token_latency_s": vars(self.between_tokens),
            "failures": [{"reason": reason, "count": count} for reason, count in self.failures],
        }


def check(api: Api) -> None:
    """Ask for one token, so that the first measured request meets a server that is awake.

    Raises:
        ApiError: There is nothing to measure.
    """
    sample = Sample()
    _complete(api, 0, Load(0, 1, 1), sample, lambda: False)
    if not sample.arrived:
        raise ApiError(
            f"{api.deployed.cluster} streams nothing: expected a token from "
            f"{api.deployed.endpoints['completions']}, got none; look at samewire logs."
        )


def run(new_api: Callable[[], Api], load: Load) -> Result:
    """Measure for the seconds of a load; new_api: makes an API for each thread."""
    samples: list[Sample] = []
    started = time.monotonic()
    deadline = started + load.seconds

    def over() -> bool:
        return time.monotonic() >= deadline

    def ask(thread: int) -> None:
        api = new_api()
        number = thread
        while not over():
            sample = Sample()
            samples.append(sample)
            try:
                _complete(api, number, load, sample, over)
            except ApiError as error:
                sample.failure = str(error)
                time.sleep(min(PAUSE_S, max(deadline - time.monotonic(), 0)))
            number += load.concurrency

    threads = [
        threading.Thread(target=ask, args=(thread,), daemon=True)
        for thread in range(1, load.concurrency + 1)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(max(deadline + GRACE_S - time.monotonic(), 0))
    return summary(list(samples), load.seconds)


def summary(samples: Sequence[Sample], seconds: float) -> Result:
    """Return what the samples of some seconds say together."""
    failed = [sample for sample in samples if sample.failure]
    good = [sample for sample in samples if not sample.failure]
    gaps = [
        later - earlier
        for sample in good
        for earlier, later in zip(sample.arrived, sample.arrived[1:], strict=False)
    ]
    return Result(
        seconds=seconds,
        done=sum(sample.done for sample in good),
        failed=len(failed),
        cut=sum(not sample.done for sample in good),
        tokens=sum(sample.tokens for sample in good),
        first_token=Spread.of([sample.arrived[0] for sample in good if sample.arrived]),
        between_tokens=Spread.of(gaps),
        failures=tuple(Counter(sample.failure for sample in failed).most_common()),
    )


def _complete(api: Api, number: int, load: Load, sample: Sample, over: Callable[[], bool]) -> None:
    """Fill a sample with one answer, up to its end or the end of the measurement."""
    url = api.deployed.endpoints["completions"]
    body = {
        "model": api.deployed.model,
        # Each begins with another word, or the server would know the prompt already.
        "prompt": f"{number} is a number with a story of its own, and this is how it begins:",
        "max_tokens": load.tokens,
        "ignore_eos": True,
        "stream": True,
        # vLLM's own: without it a request that is cut would not say how many tokens its pieces held.
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }
    sent = time.monotonic()
    with api.post(url, body, stream=True) as response:
        try:
            for piece in _pieces(response):
                if over():
                    return
                if "error" in piece:
                    raise ApiError(f"{api.deployed.cluster} gave up: {_said(piece['error'])}")
                if piece.get("choices"):
                    sample.arrived.append(time.monotonic() - sent)
                    sample.tokens += 1
                if usage := piece.get("usage"):
                    sample.tokens = int(usage["completion_tokens"])
        except (
            requests.RequestException,
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        ) as error:
            raise ApiError(
                f"{api.deployed.cluster} broke off: expected a stream of completions from {url}, got "
                f"{type(error).__name__}; look at samewire logs."
            ) from None
    sample.done = True


def _pieces(response: requests.Response) -> Iterator[dict[str, Any]]:
    """Yield the objects of a stream of server-sent events."""
    for line in response.iter_lines(chunk_size=None):
        if line.startswith(b"data:") and (data := line[5:].strip()) != b"[DONE]":
            yield json.loads(data)


def _said(error: object) -> str:
    message = error.get("message", error) if isinstance(error, dict) else error
    return " ".join(str(message).split())


def _at(ordered: Sequence[float], part: float) -> float | None:
    return ordered[max(math.ceil(part * len(ordered)) - 1, 0)] if ordered else None
