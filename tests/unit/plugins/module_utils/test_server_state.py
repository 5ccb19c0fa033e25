# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a server says of itself, as values."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _server_state

METRICS = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="tiny"} 1.0
vllm:num_requests_waiting{engine="0",model_name="a b {c} 9"} 2.0
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:request_success_total{engine="0",finished_reason="stop"} 7.0
vllm:request_success_total{engine="0",finished_reason="length"} 2.0
vllm:request_success_created{engine="0",finished_reason="stop"} 1.7e+09
vllm:generation_tokens_total{engine="0"} 1.44e+02
vllm:prompt_tokens_total not-a-number
"""


def test_metrics_are_added_up_over_their_labels() -> None:
    assert _server_state.metrics(METRICS) == {
        "running": 1.0,
        "waiting": 2.0,
        "requests": 9.0,
        "prompt_tokens": 0.0,
        "generation_tokens": 144.0,
        "kv_cache_usage": 0.25,
    }


def test_an_older_name_of_a_metric() -> None:
    assert _server_state.metrics("vllm:gpu_cache_usage_perc 0.5")["kv_cache_usage"] == 0.5


def test_without_metrics() -> None:
    assert set(_server_state.metrics("").values()) == {None}


def test_the_last_request_to_the_api() -> None:
    log = [
        '2026-11-30T13:00:01.5Z (APIServer pid=1) INFO: 10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK',
        '2026-11-30T13:00:02.5Z INFO:     10.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 500 x',
        '2026-11-30T13:00:03.5Z INFO:     10.0.0.1:5 - "GET /v1/models HTTP/1.1" 200 OK',
    ]
    assert _server_state.last_request(log) == {"at": "2026-11-30T13:00:02Z", "status": 500}
    assert _server_state.last_request(log[2:]) is None


def test_what_the_entry_point_says_of_a_loop() -> None:
    gave_up = (
        "samewire: gave up after 10 starts in 2 min, each of which ended; the log above says why"
    )
    assert _server_state.gave_up(["Traceback", gave_up])
    assert not _server_state.gave_up(["Traceback", "samewire: start 5 of 10, in 80 s"])
    assert (
        _server_state.pause(["x", "samewire: start 5 of 10, in 80 s"]) == "start 5 of 10, in 80 s"
    )
    # It has started since.
    assert _server_state.pause(["samewire: start 5 of 10, in 80 s", "INFO vllm"]) is None
    assert _server_state.pause([]) is None


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("[::]", "http://[::1]:8000"),
        ("fd00::12", "http://[fd00::12]:8000"),
        ("10.0.0.1", "http://10.0.0.1:8000"),
    ],
)
def test_local_url(host: str, url: str) -> None:
    assert _server_state.local_url(host, 8000) == url
    assert _server_state.local_url(host, 8000, tls=True) == url.replace("http:", "https:")


def test_gpus() -> None:
    said = "0, NVIDIA H100 80GB HBM3, 1024, 81559\n1, NVIDIA GB10, [N/A], [N/A]\nwarning\n"
    assert _server_state.gpus(said) == [
        {
            "index": 0,
            "name": "NVIDIA H100 80GB HBM3",
            "memory_used_mib": 1024,
            "memory_total_mib": 81559,
        },
        {"index": 1, "name": "NVIDIA GB10", "memory_used_mib": None, "memory_total_mib": None},
    ]
