# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The filter; what it renders is in the tests of _monitoring."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.prometheus_config import prometheus_config
from tests.unit.plans import plan

WANTED = {
    "cluster": "pair",
    "head": "spark0",
    "watcher": "spark0",
    "executor": "mp",
    "api_host": "0.0.0.0",
    "api_port": 8000,
    "api_tls": False,
    "api_key": True,
    "exporter_port": 9100,
    "targets": "/run/ray.json",
}


def test_prometheus_config_takes_what_jinja_gives() -> None:
    found = prometheus_config(plan(), WANTED)
    assert list(found) == ["global", "rule_files", "scrape_configs"]
    assert list(prometheus_config(plan(), WANTED | {"service": False})) == ["scrape_configs"]
