# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever Docker, Ray and vLLM wrap around a line, the event says who said what and when."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils._log_events import (
    Event,
    first_exception,
    parse,
)


@pytest.mark.parametrize(
    ("raw", "text", "rest"),
    [
        ("plain text", "plain text", {}),
        (
            "\x1b[36m(RayWorkerWrapper pid=1978, ip=10.41.0.8)\x1b[0m [rank9]:[W socket.cpp] slow\n",
            "[rank9]:[W socket.cpp] slow",
            {"host": "10.41.0.8", "rank": 9, "process": "RayWorkerWrapper pid=1978, ip=10.41.0.8"},
        ),
        (
            "(EngineCore pid=630) (RayWorkerWrapper pid=29, ip=fd00::2) spark1:29:30 [0] NCCL INFO hi",
            "spark1:29:30 [0] NCCL INFO hi",
            {
                "host": "fd00::2",
                "process": "EngineCore pid=630 RayWorkerWrapper pid=29, ip=fd00::2",
            },
        ),
        ("spark1:29:30 [0] NCCL INFO hi", "spark1:29:30 [0] NCCL INFO hi", {"host": "spark1"}),
        (
            "(Worker_TP3 pid=7) ERROR 08-31 06:22:53 [multiproc_executor.py:944] RuntimeError: no",
            "RuntimeError: no",
            {"rank": 3, "process": "Worker_TP3 pid=7", "time": "08-31 06:22:53"},
        ),
        (
            "2022-03-30 17:22:35,502\tWARNING node.py:1465 -- Unable to connect",
            "Unable to connect",
            {"time": "03-30 17:22:35"},
        ),
        (
            "(raylet, ip=10.19.0.7) [2023-03-21 21:53:44,254 E 1 2] (raylet) agent.cc:135: gone",
            "[2023-03-21 21:53:44,254 E 1 2] (raylet) agent.cc:135: gone",
            {"host": "10.19.0.7", "process": "raylet, ip=10.19.0.7", "time": "03-21 21:53:44"},
        ),
        (
            "(pid=53827) warnings.warn( [repeated 4x across cluster] (Ray deduplicates logs by default.)",
            "warnings.warn(",
            {"process": "pid=53827", "repeated": 4},
        ),
        (
            '{"log":"\\u001b[36m(EngineCore pid=1)\\u001b[0m died\\n","stream":"stderr",'
            '"time":"2026-11-30T10:00:01.5Z"}',
            "died",
            {"process": "EngineCore pid=1", "time": "11-30 10:00:01"},
        ),
        ('{"log": broken', '{"log": broken', {}),
        ("head-1  | Ray runtime started.", "Ray runtime started.", {}),
        (
            "2026-11-30T10:00:01.123456Z stderr F Killed",
            "Killed",
            {"time": "11-30 10:00:01"},
        ),
    ],
)
def test_the_wrapping_becomes_fields(raw: str, text: str, rest: dict[str, str | int]) -> None:
    assert parse("a.log", 7, raw) == Event("a.log", 7, text, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lines", "exception"),
    [
        ([], ""),
        (["INFO all is well", "no Error: here"], ""),
        (
            [
                "(EngineCore pid=34042) ERROR 11-30 15:20:30 [core.py:1510] "
                "ray.exceptions.RayTaskError(ValueError): ray::RayWorkerProc.initialize_worker()",
                "(EngineCore pid=34042) ERROR 11-30 15:20:30 [core.py:1510]     int(os.getenv('X', '0'))",
                "(EngineCore pid=34042) ERROR 11-30 15:20:30 [core.py:1510] ValueError: invalid "
                "literal for int()",
                "RuntimeError: Engine core initialization failed. See root cause above.",
            ],
            "ValueError: invalid literal for int()",
        ),
        (
            ["torch.distributed.DistBackendError: NCCL error"],
            "torch.distributed.DistBackendError: NCCL error",
        ),
    ],
)
def test_the_first_exception(lines: list[str], exception: str) -> None:
    assert first_exception(lines) == exception
