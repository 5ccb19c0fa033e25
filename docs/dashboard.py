# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Write roles/monitoring/files/dashboard.json, for Grafana 9 and newer: python docs/dashboard.py."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DASHBOARD = Path(__file__).resolve().parents[1] / "roles/monitoring/files/dashboard.json"
SOURCE = {"type": "prometheus", "uid": "${source}"}
WIDTH, HEIGHT = 12, 8


@dataclass(frozen=True)
class Panel:
    """One panel: queries by legend; kind: of Grafana; unit: Grafana's name of it."""

    title: str
    queries: dict[str, str]
    unit: str = "short"
    kind: str = "timeseries"


def _on_interconnect(direction: str) -> str:
    return (
        f"rate(node_network_{direction}_bytes_total{{$CHOSEN}}[$__rate_interval]) "
        "* on (cluster, host, device) group_left () group by (cluster, host, device) "
        '(label_replace(samewire_interconnect_address_present, "device", "$1", "interface", "(.+)"))'
    )


def _quantile(metric: str) -> dict[str, str]:
    return {
        f"{part} %": f"histogram_quantile(0.{part}, sum by (le) "
        f"(rate({metric}_bucket{{$CHOSEN}}[$__rate_interval])))"
        for part in (50, 95)
    }


ROWS: dict[str, list[Panel]] = {
    "Cluster": [
        Panel(
            "Up",
            {"{{job}} on {{host}}": 'up{job=~"samewire-.*", $CHOSEN}'},
            kind="stat",
        ),
        Panel(
            "Planned address present",
            {
                "{{host}}: {{address}} on {{interface}}": "samewire_interconnect_address_present{$CHOSEN}"
            },
            kind="stat",
        ),
        Panel(
            "Containers that run",
            {"{{part}} on {{host}}": "samewire_container_running{$CHOSEN}"},
            kind="stat",
        ),
        Panel(
            "Restarts within an hour",
            {"{{part}} on {{host}}": "increase(samewire_container_restarts_total{$CHOSEN}[1h])"},
        ),
    ],
    "vLLM": [
        Panel(
            "Requests",
            {
                "running": "sum(vllm:num_requests_running{$CHOSEN})",
                "waiting": "sum(vllm:num_requests_waiting{$CHOSEN})",
            },
        ),
        Panel(
            "KV cache in use",
            {"engine {{engine}}": "vllm:kv_cache_usage_perc{$CHOSEN}"},
            "percentunit",
        ),
        Panel(
            "Tokens in a second",
            {
                "prompt": "sum(rate(vllm:prompt_tokens_total{$CHOSEN}[$__rate_interval]))",
                "generated": "sum(rate(vllm:generation_tokens_total{$CHOSEN}[$__rate_interval]))",
            },
        ),
        Panel(
            "Requests that ended, in a second",
            {
                "{{finished_reason}}": "sum by (finished_reason) "
                "(rate(vllm:request_success_total{$CHOSEN}[$__rate_interval]))"
            },
        ),
        Panel("Time to the first token", _quantile("vllm:time_to_first_token_seconds"), "s"),
        Panel("Time between tokens", _quantile("vllm:inter_token_latency_seconds"), "s"),
    ],
    "Interconnect": [
        Panel(
            "TCP/IP on the planned interface",
            {
                "{{host}} sends": _on_interconnect("transmit"),
                "{{host}} receives": _on_interconnect("receive"),
            },
            "Bps",
        ),
        Panel(
            "Planned HCAs",
            {
                f"{{{{host}}}} {{{{device}}}} {verb}": "rate(node_infiniband_port_data_"
                f"{direction}_bytes_total{{$CHOSEN}}[$__rate_interval]) * on (cluster, host, device, port) "
                "group_left () samewire_planned_hca"
                for direction, verb in (("transmitted", "sends"), ("received", "receives"))
            },
            "Bps",
        ),
    ],
    "Hosts": [
        Panel(
            "Processors in use",
            {
                "{{host}}": "1 - avg by (cluster, host) "
                '(rate(node_cpu_seconds_total{mode="idle", $CHOSEN}[$__rate_interval]))'
            },
            "percentunit",
        ),
        Panel(
            "Memory in use",
            {
                "{{host}}": "1 - node_memory_MemAvailable_bytes{$CHOSEN} / node_memory_MemTotal_bytes"
            },
            "percentunit",
        ),
        Panel(
            "Memory that Ray sees in use",
            {"{{host}}": "ray_node_mem_used{$CHOSEN} / ray_node_mem_total{$CHOSEN}"},
            "percentunit",
        ),
        Panel(
            "Free space of file systems",
            {
                "{{host}} {{mountpoint}}": 'node_filesystem_avail_bytes{fstype!~"tmpfs|overlay", $CHOSEN} '
                "/ node_filesystem_size_bytes"
            },
            "percentunit",
        ),
    ],
}
CHOSEN = 'cluster=~"$cluster", host=~"$host"'


def expressions() -> dict[str, str]:
    """Return every query, by title of the panel and legend, as Grafana sends it but for its variables."""
    return {
        f"{panel.title}: {legend}": _chosen(query)
        for panels in ROWS.values()
        for panel in panels
        for legend, query in panel.queries.items()
    }


def _chosen(query: str) -> str:
    return query.replace("$CHOSEN", CHOSEN)


def _panel(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    stat = panel.kind == "stat"
    steps = [{"color": "red", "value": None}, {"color": "green", "value": 1}]
    defaults = {"unit": panel.unit, "min": 0}
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": SOURCE,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": x, "y": y},
        "fieldConfig": {
            "defaults": defaults
            | ({"thresholds": {"mode": "absolute", "steps": steps}} if stat else {}),
            "overrides": [],
        },
        "options": {"colorMode": "background", "textMode": "value_and_name"} if stat else {},
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": SOURCE,
                "expr": _chosen(query),
                "legendFormat": legend,
            }
            for place, (legend, query) in enumerate(panel.queries.items())
        ],
    }


def _panels() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    y = 0
    for title, panels in ROWS.items():
        place = {"h": 1, "w": 2 * WIDTH, "x": 0, "y": y}
        row = {"id": len(made) + 1, "type": "row", "title": title, "gridPos": place, "panels": []}
        made.append(row | {"collapsed": False})
        y += 1
        for index, panel in enumerate(panels):
            x = WIDTH * (index % 2)
            made.append(_panel(panel, len(made) + 1, x, y + HEIGHT * (index // 2)))
        y += HEIGHT * ((len(panels) + 1) // 2)
    return made


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    source = {"name": "source", "type": "datasource", "query": "prometheus"}
    alerts = {
        "name": "Alerts",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": "red",
        "expr": f'ALERTS{{alertname=~"Samewire.*", alertstate="firing", {CHOSEN}}}',
        "titleFormat": "{{alertname}}",
        "textFormat": "{{host}}",
    }
    return {
        "uid": "samewire",
        "title": "Samewire",
        "tags": ["samewire", "vllm", "ray"],
        "schemaVersion": 37,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "annotations": {"list": [alerts]},
        "templating": {
            "list": [
                source,
                _variable("cluster", "label_values(samewire_planned_transport, cluster)"),
                _variable(
                    "host", 'label_values(samewire_planned_transport{cluster=~"$cluster"}, host)'
                ),
            ]
        },
        "panels": _panels(),
    }


def render() -> str:
    """Return the file."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    DASHBOARD.write_text(render(), encoding="utf-8")
