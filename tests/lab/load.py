# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A steady load of requests, and what became of each."""

from __future__ import annotations

import json
import pathlib
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

PERIOD = 0.5
TIMEOUT = 10
# So many right answers in a row are health again.
ENOUGH = 4


@dataclass(frozen=True)
class Answer:
    """One request: when it was asked and answered (seconds of the monotonic clock), and whether rightly."""

    asked: float
    answered: float
    right: bool


class Load:
    """Asks for the completion of a deployment's record, again and again, until the block ends."""

    def __init__(self, record: dict[str, Any]) -> None:
        """Take what was proven as what is right."""
        self._url = record["endpoints"]["completions"]
        key = pathlib.Path("~/.samewire/clusters").expanduser() / record["cluster"] / "api_key"
        self._headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {key.read_text(encoding='utf-8')}",
        }
        self._wanted = record["completion"]["text"]
        self._body = json.dumps(
            {
                "model": record["model"],
                "prompt": record["completion"]["prompt"],
                "max_tokens": 16,
                "temperature": 0,
            }
        ).encode()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask_on)
        self.answers: list[Answer] = []

    def __enter__(self) -> Load:
        """Begin to ask."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ask no more."""
        self._over.set()
        self._thread.join()

    def _ask_on(self) -> None:
        while not self._over.is_set():
            asked = time.monotonic()
            right = self._ask()
            self.answers.append(Answer(asked, time.monotonic(), right))
            self._over.wait(max(0.0, PERIOD - (time.monotonic() - asked)))

    def _ask(self) -> bool:
        request = urllib.request.Request(self._url, self._body, self._headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
                return bool(json.load(response)["choices"][0]["text"] == self._wanted)
        except (urllib.error.URLError, OSError, ValueError, KeyError):
            return False

    def right_since(self, moment: float) -> float | None:
        """Return since when answers are right for good after a moment, or None while they are not."""
        last = self.answers[-ENOUGH:]
        if len(last) < ENOUGH or last[0].asked < moment or not all(each.right for each in last):
            return None
        since = last[0].answered
        for each in reversed(self.answers):
            if not each.right or each.asked < moment:
                break
            since = each.answered
        return since

    def failed_since(self, moment: float) -> int:
        """Return how many requests that were asked, or pending, after a moment failed."""
        return sum(not each.right for each in self.answers if each.answered > moment)
