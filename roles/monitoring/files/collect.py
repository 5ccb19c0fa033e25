# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what only Samewire knows of a host for the node exporter, and on one host where Ray's exporters are.

    collect.py CONFIG

CONFIG, in JSON: cluster, host, address, interface, transport, hcas (DEVICE:PORT each), parts, ray (directory
of Ray's sessions), output (file of the node exporter), members (planned addresses by host), exporter_port,
and targets (file that Prometheus reads, empty where it does not run).

Ray chooses the port of its metrics anew at each start and leaves it in its session on each host; the node
exporters carry it to the host of Prometheus.
"""

from __future__ import annotations

import http.client
import json
import pathlib
import re
import socket
import subprocess
import sys
import urllib.request

DOCKER = "/var/run/docker.sock"
PATIENCE = 5.0
HELP = {
    "samewire_interconnect_address_present": "Whether the planned address is on the planned interface.",
    "samewire_planned_transport": "What the plan lets carry the data, rdma or socket.",
    "samewire_planned_hca": "A port of an RDMA device that the plan uses.",
    "samewire_engine_up": "Whether the Docker Engine answers.",
    "samewire_container_running": "Whether a container of the cluster runs.",
    "samewire_container_restarts_total": "How often Docker has restarted a container of the cluster.",
    "samewire_ray_metrics_port": "The port of Ray's metrics since its last start.",
}
_RAY_PORT = re.compile(
    r"^samewire_ray_metrics_port\{(?P<labels>[^}]*)\} (?P<port>\d+)$", re.MULTILINE
)


def samples(config, seen):
    """Return (metric, labels, value) of what was seen of a host.

    seen: addresses (lists by interface, None where unknown), engine, containers (running and restarts by
    part), ray_port (None where unknown).
    """
    address, interface = config["address"], config["interface"]
    found = []
    if seen["addresses"] is not None:
        present = address in seen["addresses"].get(interface, ())
        labels = {"address": address, "interface": interface}
        found.append(("samewire_interconnect_address_present", labels, int(present)))
    found.append(("samewire_planned_transport", {"transport": config["transport"]}, 1))
    for hca in config["hcas"]:
        device, _unused, port = hca.partition(":")
        found.append(("samewire_planned_hca", {"device": device, "port": port or "1"}, 1))
    found.append(("samewire_engine_up", {}, int(seen["engine"])))
    if seen["engine"]:
        containers = {part: seen["containers"].get(part) or {} for part in config["parts"]}
        found += [
            ("samewire_container_running", {"part": part}, int(each.get("running", False)))
            for part, each in containers.items()
        ]
        found += [
            ("samewire_container_restarts_total", {"part": part}, each["restarts"])
            for part, each in containers.items()
            if "restarts" in each
        ]
    if seen["ray_port"]:
        found.append(("samewire_ray_metrics_port", {}, seen["ray_port"]))
    return found


def render(config, found):
    """Return samples in the text format of Prometheus; each carries the cluster and the host."""
    lines, last = [], None
    for name, labels, value in found:
        if name != last:
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# HELP {name} {HELP[name]}", f"# TYPE {name} {kind}"]
            last = name
        every = {"cluster": config["cluster"], "host": config["host"], **labels}
        shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in every.items())
        lines.append(f"{name}{{{shown}}} {value}")
    return "\n".join(lines) + "\n"


def _escaped(text):
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def targets(config, pages):
    """Return where Ray's exporters are, as Prometheus reads it from a file; pages: metrics by host."""
    found = []
    for host, text in sorted(pages.items()):
        own = {f'cluster="{config["cluster"]}"', f'host="{host}"'}
        for line in _RAY_PORT.finditer(text):
            if set(line["labels"].split(",")) == own and 0 < int(line["port"]) < 65536:
                target = f"{bracketed(config['members'][host])}:{line['port']}"
                labels = {"cluster": config["cluster"], "host": host}
                found.append({"targets": [target], "labels": labels})
    return found


def bracketed(address):
    """Return an address as it stands before a port."""
    return f"[{address}]" if ":" in address else address


def addresses(said):
    """Return addresses by interface from what `ip -json address` said."""
    return {
        link["ifname"]: [each["local"] for each in link["addr_info"] if "local" in each]
        for link in json.loads(said)
        if link.get("ifname")
    }


def containers(inspected, cluster):
    """Return running and restarts by part, of containers that are the cluster's; inspected: by name."""
    found = {}
    for name, said in inspected.items():
        label = (said["Config"].get("Labels") or {}).get("samewire.cluster")
        if label == cluster:
            found[name.rpartition("-")[2]] = {
                "running": said["State"]["Status"] == "running",
                "restarts": said["RestartCount"],
            }
    return found


def ray_port(directory):
    """Return the port of the last start, None where the directory of the sessions does not tell.

    Ray 2.60 leaves a file for each start, older releases one for all nodes of a session; the link to the
    session leads to where it is inside the container.
    """
    try:
        folder = pathlib.Path(directory)
        session = folder / (folder / "session_latest").readlink().name
        files = sorted(session.glob("metrics_export_port_*"), key=lambda file: file.stat().st_mtime)
        if files:
            port = int(files[-1].read_text(encoding="ascii"))
        else:
            nodes = json.loads((session / "ports_by_node.json").read_text(encoding="utf-8"))
            port = int([*nodes.values()][-1]["metrics_export_port"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return port if 0 < port < 65536 else None


class _Docker(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(DOCKER)

    def ask(self, name):
        """Return what Docker says of a container, None where there is none."""
        self.request("GET", f"/containers/{name}/json")
        answer = self.getresponse()
        body = answer.read()
        if answer.status not in (200, 404):
            raise OSError(f"Docker answers with status {answer.status}")
        return json.loads(body) if answer.status == 200 else None


def look(config):
    """Return what there is of the cluster on this host."""
    try:
        done = subprocess.run(
            ["ip", "-json", "address"], capture_output=True, text=True, check=True, timeout=PATIENCE
        )
        known = addresses(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        known = None
    names = [f"{config['cluster']}-{part}" for part in config["parts"]]
    docker, inspected, answers = _Docker("localhost"), {}, True
    try:
        said = {name: docker.ask(name) for name in names}
        inspected = {name: each for name, each in said.items() if each}
    except (OSError, ValueError, http.client.HTTPException):
        answers = False
    finally:
        docker.close()
    found = containers(inspected, config["cluster"])
    runs_ray = found.get("ray", {}).get("running", False)
    return {
        "addresses": known,
        "engine": answers,
        "containers": found,
        "ray_port": ray_port(config["ray"]) if runs_ray else None,
    }


def page(address, port):
    """Return what a node exporter says, nothing where it does not answer."""
    # What the environment says of proxies is not meant for the interconnect.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{bracketed(address)}:{port}/metrics", timeout=PATIENCE) as answer:
            return answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""


def write(path, text):
    """Write a file that is never seen half written."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.chmod(0o644)
    new.replace(path)


def main():
    """Look once, and write."""
    config = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    text = render(config, samples(config, look(config)))
    write(config["output"], text)
    if config["targets"]:
        others = {
            host: address for host, address in config["members"].items() if host != config["host"]
        }
        pages = {host: page(address, config["exporter_port"]) for host, address in others.items()}
        found = targets(config, {**pages, config["host"]: text})
        write(config["targets"], json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
