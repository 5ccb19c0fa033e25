# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What only Samewire knows of a host becomes metrics, and Ray's exporters become targets of Prometheus."""

from __future__ import annotations

import http.server
import importlib.util
import json
import os
import pathlib
import socketserver
import sys
import threading
from typing import Any

import pytest

FILE = pathlib.Path(__file__).parents[3] / "roles/monitoring/files/collect.py"
CONFIG: dict[str, Any] = {
    "cluster": "pair",
    "host": "spark0",
    "address": "192.168.200.12",
    "interface": "enp1s0f0np0",
    "transport": "rdma",
    "hcas": ["rocep1s0f0:1", "roceP2p1s0f0:1"],
    "parts": ["ray", "vllm"],
    "members": {"spark0": "192.168.200.12", "spark1": "192.168.200.13"},
    "exporter_port": 9100,
}
SEEN: dict[str, Any] = {
    "addresses": {"enp1s0f0np0": ["192.168.200.12", "fe80::1"], "lo": ["127.0.0.1"]},
    "engine": True,
    "containers": {"ray": {"running": True, "restarts": 2}},
    "ray_port": 40051,
}
WHO = 'cluster="pair",host="spark0"'
RENDERED = f"""\
# HELP samewire_interconnect_address_present Whether the planned address is on the planned interface.
# TYPE samewire_interconnect_address_present gauge
samewire_interconnect_address_present{{{WHO},address="192.168.200.12",interface="enp1s0f0np0"}} 1
# HELP samewire_planned_transport What the plan lets carry the data, rdma or socket.
# TYPE samewire_planned_transport gauge
samewire_planned_transport{{{WHO},transport="rdma"}} 1
# HELP samewire_planned_hca A port of an RDMA device that the plan uses.
# TYPE samewire_planned_hca gauge
samewire_planned_hca{{{WHO},device="rocep1s0f0",port="1"}} 1
samewire_planned_hca{{{WHO},device="roceP2p1s0f0",port="1"}} 1
# HELP samewire_engine_up Whether the Docker Engine answers.
# TYPE samewire_engine_up gauge
samewire_engine_up{{{WHO}}} 1
# HELP samewire_container_running Whether a container of the cluster runs.
# TYPE samewire_container_running gauge
samewire_container_running{{{WHO},part="ray"}} 1
samewire_container_running{{{WHO},part="vllm"}} 0
# HELP samewire_container_restarts_total How often Docker has restarted a container of the cluster.
# TYPE samewire_container_restarts_total counter
samewire_container_restarts_total{{{WHO},part="ray"}} 2
# HELP samewire_ray_metrics_port The port of Ray's metrics since its last start.
# TYPE samewire_ray_metrics_port gauge
samewire_ray_metrics_port{{{WHO}}} 40051
"""


@pytest.fixture(scope="module")
def collect() -> Any:
    spec = importlib.util.spec_from_file_location("samewire_collect", FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def values(collect: Any, **seen: Any) -> dict[str, Any]:
    """Return what becomes of something else seen, by metric; of several samples the last."""
    return {name: value for name, _, value in collect.samples(CONFIG, SEEN | seen)}


def test_a_host_as_it_should_be(collect: Any) -> None:
    assert collect.render(CONFIG, collect.samples(CONFIG, SEEN)) == RENDERED


@pytest.mark.parametrize(
    "addresses",
    [
        {},
        {"enp1s0f0np0": ["192.168.200.99"]},
        {"enp1s0f0np0": [], "enp1s0f1np1": ["192.168.200.12"]},
    ],
)
def test_an_address_that_is_elsewhere_has_drifted(collect: Any, addresses: Any) -> None:
    assert values(collect, addresses=addresses)["samewire_interconnect_address_present"] == 0


def test_what_is_not_known_is_not_said(collect: Any) -> None:
    found = values(collect, addresses=None, engine=False, containers={}, ray_port=None)
    assert found == {
        "samewire_planned_transport": 1,
        "samewire_planned_hca": 1,
        "samewire_engine_up": 0,
    }


def test_a_name_cannot_break_out_of_its_label(collect: Any) -> None:
    (line,) = collect.render(
        {"cluster": 'a"} 1\nb{x="', "host": "c\\"}, [("samewire_engine_up", {}, 1)]
    ).splitlines()[2:]
    assert line == 'samewire_engine_up{cluster="a\\"} 1\\nb{x=\\"",host="c\\\\"} 1'


def test_the_addresses_of_ip(collect: Any) -> None:
    said = json.dumps(
        [
            {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}, {"local": "::1"}]},
            {},
            {"ifname": "tun0", "addr_info": [{}]},
        ]
    )
    assert collect.addresses(said) == {"lo": ["127.0.0.1", "::1"], "tun0": []}


def test_a_container_of_somebody_else_counts_for_nothing(collect: Any) -> None:
    def container(label: dict[str, str] | None, status: str) -> dict[str, Any]:
        return {"Config": {"Labels": label}, "State": {"Status": status}, "RestartCount": 3}

    own = {"samewire.cluster": "pair"}
    found = collect.containers(
        {"pair-ray": container(own, "exited"), "pair-vllm": container(None, "running")}, "pair"
    )
    assert found == {"ray": {"running": False, "restarts": 3}}


def session(folder: pathlib.Path, files: dict[str, str]) -> pathlib.Path:
    """Make a session as Ray leaves it in the folder that the container has at /tmp/ray."""
    made = folder / "session_1"
    made.mkdir()
    for age, (name, text) in enumerate(files.items()):
        (made / name).write_text(text)
        os.utime(made / name, (1000 + age, 1000 + age))
    (folder / "session_latest").symlink_to("/tmp/ray/session_1")
    return folder


NODES = json.dumps({"a": {"metrics_export_port": 1}, "b": {"metrics_export_port": 40052}})


@pytest.mark.parametrize(
    ("files", "port"),
    [
        ({"metrics_export_port_a": "40050", "metrics_export_port_b": "40051"}, 40051),
        ({"ports_by_node.json": NODES}, 40052),
        ({"metrics_export_port_a": "-1"}, None),
        ({"metrics_export_port_a": "soon"}, None),
        ({"ports_by_node.json": "[]"}, None),
        ({"ports_by_node.json": '{"a": null}'}, None),
        ({}, None),
    ],
)
def test_the_port_of_the_last_start(
    collect: Any, tmp_path: pathlib.Path, files: dict[str, str], port: int | None
) -> None:
    assert collect.ray_port(str(session(tmp_path, files))) == port


def test_no_session_has_no_port(collect: Any, tmp_path: pathlib.Path) -> None:
    assert collect.ray_port(str(tmp_path)) is None


def test_targets_are_at_planned_addresses(collect: Any) -> None:
    pages = {"spark0": RENDERED, "spark1": RENDERED.replace("spark0", "spark1"), "spark2": ""}
    assert collect.targets(CONFIG, pages) == [
        {"targets": ["192.168.200.12:40051"], "labels": {"cluster": "pair", "host": "spark0"}},
        {"targets": ["192.168.200.13:40051"], "labels": {"cluster": "pair", "host": "spark1"}},
    ]
    assert collect.bracketed("fd00::12") == "[fd00::12]"


@pytest.mark.parametrize(
    "said",
    [
        f"samewire_ray_metrics_port{{{WHO}}} 99999",
        'samewire_ray_metrics_port{cluster="other",host="spark0"} 40051',
        f"x samewire_ray_metrics_port{{{WHO}}} 40051",
    ],
)
def test_what_is_not_this_clusters_port_is_no_target(collect: Any, said: str) -> None:
    assert collect.targets(CONFIG, {"spark0": said}) == []


class _Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = RENDERED.replace("spark0", "spark1").replace("40051", "40077").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class _Docker(_Exporter):
    def do_GET(self) -> None:
        labels = {"samewire.cluster": "pair"}
        found = {
            "Config": {"Labels": labels},
            "State": {"Status": "running"},
            "RestartCount": 1,
        }
        body = json.dumps(found).encode()
        self.send_response(200 if self.path == "/containers/pair-ray/json" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return ""


class _UnixServer(socketserver.UnixStreamServer):
    pass


def test_one_look_writes_both_files(
    collect: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = tmp_path / "ray"
    ray.mkdir()
    session(ray, {"metrics_export_port_a": "40051"})
    with (
        http.server.HTTPServer(("127.0.0.1", 0), _Exporter) as exporter,
        _UnixServer(str(tmp_path / "docker.sock"), _Docker) as docker,
    ):
        for server in (exporter, docker):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        config = {
            **CONFIG,
            "members": {"spark0": "192.168.200.12", "spark1": "127.0.0.1"},
            "exporter_port": exporter.server_address[1],
            "ray": str(ray),
            "output": str(tmp_path / "out" / "samewire-pair.prom"),
            "targets": str(tmp_path / "run" / "ray.json"),
        }
        (tmp_path / "collect.json").write_text(json.dumps(config))
        monkeypatch.setattr(collect, "DOCKER", str(tmp_path / "docker.sock"))
        monkeypatch.setattr(sys, "argv", ["collect.py", str(tmp_path / "collect.json")])
        collect.main()
        for server in (exporter, docker):
            server.shutdown()
    text = pathlib.Path(config["output"]).read_text(encoding="utf-8")
    assert f'samewire_container_restarts_total{{{WHO},part="ray"}} 1' in text
    assert f'samewire_container_running{{{WHO},part="vllm"}} 0' in text
    targets = json.loads(pathlib.Path(config["targets"]).read_text(encoding="utf-8"))
    assert [each["targets"] for each in targets] == [["192.168.200.12:40051"], ["127.0.0.1:40077"]]
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["samewire-pair.prom"]


def test_without_docker_and_without_a_neighbour_it_still_writes(
    collect: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "DOCKER", str(tmp_path / "none"))
    seen = collect.look({**CONFIG, "ray": str(tmp_path)})
    assert (seen["engine"], seen["containers"], seen["ray_port"]) == (False, {}, None)
    assert collect.page("127.0.0.1", 1) == ""
