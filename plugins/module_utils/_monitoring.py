# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a Prometheus is told of a cluster, and whether a host can have it.

Source: the configuration of Prometheus 2.42, as Debian 12 has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _environment, _parts

CONFIG = "/etc/prometheus/prometheus.yml"
FOLDER = "/etc/samewire-monitoring"
NODE_EXPORTER, PROMETHEUS = "node-exporter.sh", "prometheus.sh"

_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not bound to
_INTERVAL = "15s"
# The variable that leaves a program alone, by the script that starts it.
_SWITCHES = {
    NODE_EXPORTER: ("the node exporter", "monitoring_node_exporter"),
    PROMETHEUS: ("Prometheus", "monitoring_prometheus_service"),
}


@dataclass(frozen=True)
class Wanted:
    """What is to be watched, and from where.

    watcher: the host of Prometheus; api_host, api_port, api_tls: where vLLM listens; api_key: whether it asks
    for a key; tls_name: a name that its certificate is for, empty for its address; exporter, service: whether
    the hosts' node exporter and the watcher's Prometheus are taken, else somebody else sees to them; targets:
    file in which the collector keeps where Ray's exporters are; alertmanagers: HOST:PORT each.
    """

    cluster: str
    head: str
    watcher: str
    executor: str
    api_host: str
    api_port: int
    api_tls: bool
    api_key: bool
    exporter_port: int
    targets: str
    tls_name: str = ""
    exporter: bool = True
    service: bool = True
    alertmanagers: Sequence[str] = ()

    @property
    def folder(self) -> str:
        """The directory of the cluster's files on its hosts."""
        return f"{FOLDER}/{self.cluster}"


@dataclass(frozen=True)
class Seen:
    """What a host has.

    md5: of the configuration of Prometheus, None where there is none; conffiles: what dpkg says of the files
    of that package; scripts: paths of the programs that any cluster's monitoring starts.
    """

    md5: str | None = None
    conffiles: str = ""
    scripts: Sequence[str] = field(default_factory=tuple)


def _labels(wanted: Wanted, host: str, job: str) -> dict[str, str]:
    # The job is the same for all clusters, so that one set of rules does for all.
    return {"job": f"samewire-{job}", "cluster": wanted.cluster, "host": host}


def _static(wanted: Wanted, host: str, job: str, address: str, port: int) -> dict[str, Any]:
    target = f"{_environment.bracketed(address)}:{port}"
    return {"targets": [target], "labels": _labels(wanted, host, job)}


def scrape_configs(plan: Mapping[str, Any], wanted: Wanted) -> list[dict[str, Any]]:
    """Return the entries of `scrape_configs` for a cluster; all that is asked is on the interconnect.

    plan: of schema samewire.plan/1.
    """
    addresses = {host: str(own["address"]) for host, own in plan["hosts"].items()}
    api = addresses[wanted.head] if wanted.api_host in _EVERYWHERE else wanted.api_host
    server: dict[str, Any] = {"job_name": f"samewire-{wanted.cluster}-vllm"}
    if wanted.api_tls:
        tls = {"ca_file": f"{wanted.folder}/api.crt"}
        server["scheme"] = "https"
        server["tls_config"] = tls | ({"server_name": wanted.tls_name} if wanted.tls_name else {})
    if wanted.api_key:
        server["authorization"] = {"credentials_file": f"{wanted.folder}/api_key"}
    server["static_configs"] = [_static(wanted, wanted.head, "vllm", api, wanted.api_port)]
    nodes = {
        "job_name": f"samewire-{wanted.cluster}-node",
        # What the collector says carries cluster and host already.
        "honor_labels": True,
        "static_configs": [
            _static(wanted, host, "node", address, wanted.exporter_port)
            for host, address in sorted(addresses.items())
        ],
    }
    ray = {
        "job_name": f"samewire-{wanted.cluster}-ray",
        "file_sd_configs": [{"files": [wanted.targets], "refresh_interval": _INTERVAL}],
        "relabel_configs": [{"target_label": "job", "replacement": "samewire-ray"}],
    }
    return [server, nodes, *([ray] if wanted.executor == _parts.RAY else [])]


def prometheus_config(plan: Mapping[str, Any], wanted: Wanted) -> dict[str, Any]:
    """Return a whole configuration, or only what another one is to include."""
    scrapes = {"scrape_configs": scrape_configs(plan, wanted)}
    if not wanted.service:
        return scrapes
    managers = {"alertmanagers": [{"static_configs": [{"targets": list(wanted.alertmanagers)}]}]}
    return {
        "global": {"scrape_interval": _INTERVAL, "evaluation_interval": _INTERVAL},
        "rule_files": [f"{wanted.folder}/rules.yml"],
        **({"alerting": managers} if wanted.alertmanagers else {}),
        **scrapes,
    }


def problems(
    plan: Mapping[str, Any], host: str, hosts: Sequence[str], wanted: Wanted, seen: Seen
) -> list[str]:
    """Return why a host cannot be watched, or watch, a sentence each.

    plan: empty where the controller has none; hosts: of the inventory.
    """
    planned = plan.get("hosts") or {}
    if not planned:
        return [
            f"{wanted.cluster}: this controller has no plan of the cluster, expected that of its last "
            "deployment; run samewire deploy"
        ]
    if wanted.watcher not in hosts:
        return [
            f"{wanted.cluster}: monitoring_host is {wanted.watcher}, expected one of {', '.join(hosts)}; "
            "correct it in the inventory"
        ]
    found = []
    if host not in planned:
        found.append(f"{host}: is not in the plan of the deployment; run samewire deploy")
    if (
        host == wanted.watcher != wanted.head
        and wanted.api_host not in _EVERYWHERE
        and _is_loopback(wanted.api_host)
    ):
        found.append(
            f"{host}: vLLM listens on {wanted.api_host} of {wanted.head} alone, expected an address that "
            f"{host} reaches; set vllm_server_host, or monitoring_host to {wanted.head}"
        )
    if host == wanted.watcher and wanted.service and _is_foreign(seen):
        found.append(
            f"{host}: {CONFIG} is not as its package left it, so its Prometheus is somebody's; set "
            f"monitoring_prometheus_service to false, which writes {wanted.folder}/scrape.yml and "
            f"{wanted.folder}/rules.yml, and name these in its scrape_config_files and rule_files"
        )
    return found + [
        _taken(host, wanted, path)
        for path in sorted(seen.scripts)
        if _is_others(host, path, wanted)
    ]


def _is_loopback(address: str) -> bool:
    return address == "localhost" or address.startswith("127.") or address == "::1"


def _is_foreign(seen: Seen) -> bool:
    """Whether there is a configuration that the package has not written."""
    if seen.md5 is None:
        return False
    packaged = re.search(rf"^\s*{re.escape(CONFIG)} (\w+)", seen.conffiles, re.MULTILINE)
    return packaged is None or packaged[1] != seen.md5


def _is_others(host: str, path: str, wanted: Wanted) -> bool:
    """Whether a program that this cluster would take is another's."""
    folder, _unused, name = path.rpartition("/")
    used = {NODE_EXPORTER: wanted.exporter, PROMETHEUS: wanted.service and host == wanted.watcher}
    return folder != wanted.folder and used.get(name, False)


def _taken(host: str, wanted: Wanted, path: str) -> str:
    folder, _unused, name = path.rpartition("/")
    program, variable = _SWITCHES[name]
    other = folder.rpartition("/")[2]
    return (
        f"{host}: {program} belongs to the monitoring of cluster {other}, expected none or that of "
        f"{wanted.cluster}; set {variable} to false for {wanted.cluster}, or take that of {other} away"
    )
