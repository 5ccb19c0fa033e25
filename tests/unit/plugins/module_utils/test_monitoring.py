# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a Prometheus is told of a cluster, and what is refused before anything is changed."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _monitoring
from ansible_collections.samewire.vllm.plugins.module_utils._monitoring import Seen, Wanted
from tests.unit.plans import plan

HOSTS = ["spark0", "spark1"]
FOLDER = "/etc/samewire-monitoring/pair"
CONFFILES = """
 /etc/default/prometheus 4b8f5d28a3b8a0ec2e6e0f8a0c1f8f8c
 /etc/prometheus/prometheus.yml d34db33f
"""


SETTINGS: dict[str, Any] = {
    "cluster": "pair",
    "head": "spark0",
    "watcher": "spark0",
    "executor": "ray",
    "api_host": "0.0.0.0",
    "api_port": 8000,
    "api_tls": False,
    "api_key": True,
    "exporter_port": 9100,
    "targets": "/run/samewire-monitoring/pair-ray.json",
}


def wanted(**changes: Any) -> Wanted:
    return Wanted(**SETTINGS | changes)


def server(**changes: Any) -> dict[str, Any]:
    """Return how vLLM is asked."""
    return _monitoring.scrape_configs(plan(), wanted(**changes))[0]


def problems(seen: Seen | None = None, host: str = "spark0", **changes: Any) -> list[str]:
    return _monitoring.problems(plan(), host, HOSTS, wanted(**changes), seen or Seen())


def test_a_whole_configuration() -> None:
    who = {"cluster": "pair", "host": "spark0"}
    assert _monitoring.prometheus_config(plan(), wanted()) == {
        "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
        "rule_files": [f"{FOLDER}/rules.yml"],
        "scrape_configs": [
            {
                "job_name": "samewire-pair-vllm",
                "authorization": {"credentials_file": f"{FOLDER}/api_key"},
                "static_configs": [
                    {
                        "targets": ["192.168.200.12:8000"],
                        "labels": {"job": "samewire-vllm", **who},
                    }
                ],
            },
            {
                "job_name": "samewire-pair-node",
                "honor_labels": True,
                "static_configs": [
                    {
                        "targets": [f"{address}:9100"],
                        "labels": {"job": "samewire-node", "cluster": "pair", "host": host},
                    }
                    for host, address in (
                        ("spark0", "192.168.200.12"),
                        ("spark1", "192.168.200.13"),
                    )
                ],
            },
            {
                "job_name": "samewire-pair-ray",
                "file_sd_configs": [
                    {
                        "files": ["/run/samewire-monitoring/pair-ray.json"],
                        "refresh_interval": "15s",
                    }
                ],
                "relabel_configs": [{"target_label": "job", "replacement": "samewire-ray"}],
            },
        ],
    }


def test_for_another_prometheus_there_is_only_what_it_includes() -> None:
    found = _monitoring.prometheus_config(plan(), wanted(service=False, alertmanagers=["a:9093"]))
    assert list(found) == ["scrape_configs"]


def test_alertmanagers_are_named_where_there_are_any() -> None:
    found = _monitoring.prometheus_config(plan(), wanted(alertmanagers=["10.1.2.3:9093"]))
    (manager,) = found["alerting"]["alertmanagers"]
    assert manager == {"static_configs": [{"targets": ["10.1.2.3:9093"]}]}


def test_behind_tls_the_certificate_of_the_deployment_is_trusted_and_no_other() -> None:
    asked = server(api_tls=True)
    assert (asked["scheme"], asked["tls_config"]) == ("https", {"ca_file": f"{FOLDER}/api.crt"})
    assert (
        server(api_tls=True, tls_name="api.example.org")["tls_config"]["server_name"]
        == "api.example.org"
    )


def test_a_server_without_a_key_is_sent_none() -> None:
    assert "authorization" not in server(api_key=False)


@pytest.mark.parametrize(
    ("host", "target"),
    [
        ("::", "192.168.200.12:8000"),
        ("10.1.2.3", "10.1.2.3:8000"),
        ("fd00::1", "[fd00::1]:8000"),
        ("127.0.0.1", "127.0.0.1:8000"),
    ],
)
def test_a_server_is_asked_where_it_listens(host: str, target: str) -> None:
    assert server(api_host=host)["static_configs"][0]["targets"] == [target]


def test_addresses_of_ipv6_are_bracketed() -> None:
    _, nodes, _ = _monitoring.scrape_configs(plan(family=6), wanted())
    assert [each["targets"] for each in nodes["static_configs"]] == [
        ["[fd00::12]:9100"],
        ["[fd00::13]:9100"],
    ]


def test_without_ray_nobody_asks_for_it() -> None:
    found = _monitoring.scrape_configs(plan(), wanted(executor="mp"))
    assert [each["job_name"] for each in found] == ["samewire-pair-vllm", "samewire-pair-node"]


def test_what_is_as_it_should_be_has_no_problem() -> None:
    own = [f"{FOLDER}/node-exporter.sh", f"{FOLDER}/prometheus.sh"]
    assert problems(Seen(md5="d34db33f", conffiles=CONFFILES, scripts=own)) == []
    assert problems(Seen(), host="spark1", watcher="spark1") == []


FOREIGN = (
    "spark0: /etc/prometheus/prometheus.yml is not as its package left it, so its Prometheus is somebody's; "
    "set monitoring_prometheus_service to false, which writes /etc/samewire-monitoring/pair/scrape.yml and "
    "/etc/samewire-monitoring/pair/rules.yml, and name these in its scrape_config_files and rule_files"
)


@pytest.mark.parametrize("conffiles", [CONFFILES, "", " /etc/prometheus/prometheus.yml.old aaaa"])
def test_a_prometheus_of_somebody_else_is_refused(conffiles: str) -> None:
    seen = Seen(md5="aaaa", conffiles=conffiles)
    assert problems(seen) == [FOREIGN]
    assert problems(seen, service=False) == []
    assert problems(seen, host="spark1") == []


def test_the_programs_of_another_cluster_are_refused() -> None:
    other = "/etc/samewire-monitoring/other"
    seen = Seen(scripts=[f"{other}/prometheus.sh", f"{other}/node-exporter.sh"])
    assert problems(seen) == [
        "spark0: the node exporter belongs to the monitoring of cluster other, expected none or that of "
        "pair; set monitoring_node_exporter to false for pair, or take that of other away",
        "spark0: Prometheus belongs to the monitoring of cluster other, expected none or that of pair; "
        "set monitoring_prometheus_service to false for pair, or take that of other away",
    ]
    assert problems(seen, exporter=False, service=False) == []
    assert problems(seen, host="spark1", exporter=False) == []


def test_without_a_plan_there_is_nothing_to_watch() -> None:
    assert _monitoring.problems({}, "spark0", HOSTS, wanted(), Seen()) == [
        "pair: this controller has no plan of the cluster, expected that of its last deployment; run "
        "samewire deploy"
    ]


def test_who_cannot_watch_or_be_watched() -> None:
    assert problems(watcher="spark7") == [
        "pair: monitoring_host is spark7, expected one of spark0, spark1; correct it in the inventory"
    ]
    assert problems(host="spark2") == [
        "spark2: is not in the plan of the deployment; run samewire deploy"
    ]
    assert problems(host="spark1", watcher="spark1", api_host="127.0.0.1") == [
        "spark1: vLLM listens on 127.0.0.1 of spark0 alone, expected an address that spark1 reaches; set "
        "vllm_server_host, or monitoring_host to spark0"
    ]
