# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The filter; the sentences are in the tests of _monitoring."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.monitoring_problems import monitoring_problems
from tests.unit.plans import plan
from tests.unit.plugins.filter.test_prometheus_config import WANTED

SEEN = {"md5": None, "conffiles": "", "scripts": []}


def test_monitoring_problems_takes_what_jinja_gives() -> None:
    hosts = ["spark0", "spark1"]
    assert monitoring_problems(plan(), "spark0", hosts, WANTED, SEEN) == []
    (sentence,) = monitoring_problems(plan(), "spark0", hosts, WANTED, SEEN | {"md5": "aaaa"})
    assert sentence.startswith(
        "spark0: /etc/prometheus/prometheus.yml is not as its package left it"
    )
