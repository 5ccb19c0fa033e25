# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Faults that cost half an hour today, and what a deployment must say about each.

A fault is put into the image's programs or into the hosts, not into Samewire: a folder on the host stands
before the real `ray` and `vllm` and changes what they are started with, as a wrong image or a hand-made
script would.
"""

from __future__ import annotations

from dataclasses import dataclass, field

HOSTS = ("node0", "node1")
PROGRAMS = "/srv/fault"
OTHER_RAY = "2.59.0"
OTHER_RAY_FOLDER = "/srv/other-ray"


@dataclass(frozen=True)
class Event:
    """What befalls a host while the deployment runs: as soon as `when` succeeds on `seen_by`."""

    seen_by: str
    when: str
    host: str
    do: str
    undo: str = "true"


@dataclass(frozen=True)
class Fault:
    """A fault and how it must end.

    ray, vllm: Python that changes `environment` or `arguments` of the program, ray by host; do and undo:
    shell, by host; variables: those of the deployment; other_ray: whether the containers see
    OTHER_RAY_FOLDER; event: what happens later; found: what must be named; within: seconds from the start,
    or from the event; alone: how vLLM ends without Samewire.
    """

    name: str
    found: str
    within: int
    alone: str
    ray: dict[str, str] = field(default_factory=dict)
    vllm: str = ""
    do: dict[str, str] = field(default_factory=dict)
    undo: dict[str, str] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    other_ray: bool = False
    event: Event | None = None


UNSET = "environment.pop('VLLM_HOST_IP', None)"
OLD_EXECUTOR = 'ray_node_environment={VLLM_USE_RAY_V2_EXECUTOR_BACKEND: "0"}'
UNANSWERED = r"node\d to node\d: TCP to \S+ ports .* is not answered, expected a connection"
KILL_RAY = "kill -9 $(docker inspect --format '{{.State.Pid}}' lab-ray)"


def _host_ip(address: str) -> str:
    return f"environment['VLLM_HOST_IP'] = '{address}'"


def _node_ip(address: str) -> str:
    return (
        "arguments = [a for a in arguments if not a.startswith('--node-ip-address')]\n"
        f"arguments += ['--node-ip-address={address}'] if arguments[:1] == ['start'] else []"
    )


def _skip(*gates: str) -> str:
    return f"cluster_skip_gates=[{', '.join(gates)}]"


def _taken(address: str, port: int) -> dict[str, str]:
    """Another program listens on the port until its file of process numbers is used against it."""
    return {
        "node0": f"setsid python3 -m http.server {port} --bind {address} >/dev/null 2>&1 </dev/null & "
        f"echo $! > /run/taken-{port}; for try in $(seq 50); do "
        f"ss -Hltn 'sport = :{port}' | grep -q . && exit 0; sleep 0.1; done; exit 1"
    }


def _freed(port: int) -> dict[str, str]:
    return {"node0": f"kill $(cat /run/taken-{port}); rm /run/taken-{port}"}


# Python on the host reads this at its start; so the whole host seems to be seven seconds late.
CLOCK = "/usr/local/lib/python3.11/dist-packages/late.pth"

TAKE_AWAY = "mv /models/tiny /models/away"
# Docker makes an empty folder of a path that it shall mount and does not find.
GIVE_BACK = "[ ! -d /models/tiny ] || rmdir /models/tiny; mv /models/away /models/tiny"

FAULTS = [
    Fault(
        "VLLM_HOST_IP on another network, old executor",
        r"node_ip_mismatch",
        within=300,
        alone="1800 s, then a ValueError of the placement group",
        ray={"node0": _host_ip("10.213.1.180"), "node1": _host_ip("10.213.1.181")},
        vllm=_host_ip("10.213.1.180"),
        variables=(OLD_EXECUTOR,),
    ),
    Fault(
        "VLLM_HOST_IP unset on all nodes",
        r"node_ip_mismatch",
        within=300,
        alone="hangs for ever, without a message",
        ray=dict.fromkeys(HOSTS, UNSET),
        vllm=UNSET,
    ),
    Fault(
        "the same VLLM_HOST_IP on both nodes, old executor",
        r"duplicate_node_ip|node_ip_mismatch",
        within=300,
        alone="ends with: Every node should have a unique IP address",
        ray=dict.fromkeys(HOSTS, _host_ip("10.213.2.12")),
        variables=(OLD_EXECUTOR,),
    ),
    Fault(
        "the Ray head on its default route",
        r"node_ip_mismatch",
        within=300,
        alone="hangs for ever (new executor)",
        ray={"node0": _node_ip("10.213.1.180")},
    ),
    Fault(
        "the Ray head on its default route, old executor",
        r"node_ip_mismatch",
        within=300,
        alone="600 s, the wait of c10d",
        ray={"node0": _node_ip("10.213.1.180")},
        variables=(OLD_EXECUTOR,),
    ),
    Fault(
        "the Ray worker on its default route",
        r"node_ip_mismatch",
        within=300,
        alone="hangs for ever (new executor)",
        ray={"node1": _node_ip("10.213.1.181")},
    ),
    Fault(
        "Gloo on the loopback",
        r"gloo_loopback_address",
        within=300,
        alone="ends with: Gloo connectFullMesh failed",
        ray=dict.fromkeys(HOSTS, "environment.pop('GLOO_SOCKET_IFNAME', None)"),
        vllm="environment.pop('GLOO_SOCKET_IFNAME', None)",
    ),
    Fault(
        "an interface for Gloo that does not exist",
        r"gloo_ifname_invalid",
        within=300,
        alone="ends with: Unable to find address for: enp9s9",
        ray={"node1": "environment['GLOO_SOCKET_IFNAME'] = 'enp9s9'"},
    ),
    Fault(
        "weights missing on the worker",
        r"node1: model path /models/tiny does not exist",
        within=60,
        alone="ends after the ranks have joined",
        do={"node1": TAKE_AWAY},
        undo={"node1": GIVE_BACK},
        variables=("model_weights_sync=false",),
    ),
    Fault(
        "weights missing on the worker, past the gate",
        r"model_path_missing_on_worker",
        within=300,
        alone="ends after the ranks have joined",
        do={"node1": TAKE_AWAY},
        undo={"node1": GIVE_BACK},
        variables=(_skip("weights"),),
    ),
    Fault(
        "another Ray version on the worker",
        r"ray_version_mismatch",
        within=300,
        alone="the worker never joins; vLLM waits 1800 s for its GPU",
        ray={"node1": f"environment['PYTHONPATH'] = '{OTHER_RAY_FOLDER}/site'"},
        variables=(_skip("versions"),),
        other_ray=True,
    ),
    Fault(
        "port 6379 taken",
        r"node0: port 6379 for the Ray head is taken by",
        within=60,
        alone="the head ends; the worker waits",
        do=_taken("10.213.2.12", 6379),
        undo=_freed(6379),
    ),
    Fault(
        "port 6379 taken, past the gate",
        r"port_in_use",
        within=300,
        alone="the head ends; the worker waits",
        do=_taken("10.213.2.12", 6379),
        undo=_freed(6379),
        variables=(_skip("ports"),),
    ),
    Fault(
        "the API port taken",
        r"node0: port 8000 for the vLLM API is taken by",
        within=60,
        alone="ends with: address already in use",
        do=_taken("0.0.0.0", 8000),
        undo=_freed(8000),
    ),
    Fault(
        "the API port taken, past the gate",
        r"port_in_use",
        within=300,
        alone="ends with: address already in use",
        do=_taken("0.0.0.0", 8000),
        undo=_freed(8000),
        variables=(_skip("ports"),),
    ),
    Fault(
        "a parallel size that does not divide the heads",
        r"tp_size_not_dividing_heads",
        within=300,
        alone="ends with a ValueError of the configuration",
        variables=("vllm_server_tensor_parallel_size=3", "ray_node_gpus=2", _skip("fit")),
    ),
    Fault(
        "a context too long for the KV cache",
        r"kv_cache_too_small",
        within=300,
        alone="ends after the weights were loaded",
        # The lab's image sets it, and it would win.
        ray=dict.fromkeys(HOSTS, "environment.pop('VLLM_CPU_KVCACHE_SPACE', None)"),
        vllm="environment.pop('VLLM_CPU_KVCACHE_SPACE', None)",
        variables=(
            "vllm_server_extra_args=[--enforce-eager, --max-model-len=256, --kv-cache-memory-bytes=65536]",
        ),
    ),
    Fault(
        "an unknown argument of vllm serve",
        r"container lab-vllm exited with code 2|restarted",
        within=300,
        alone="ends with the usage",
        variables=("vllm_server_extra_args=[--no-such-argument]",),
    ),
    Fault(
        "a one-way firewall on the fabric",
        UNANSWERED,
        within=60,
        alone="600 s, the wait of c10d",
        do={"node0": "iptables -I INPUT -i enp1s0f0np0 -p tcp -j DROP"},
        undo={"node0": "iptables -D INPUT -i enp1s0f0np0 -p tcp -j DROP"},
    ),
    Fault(
        "the fabric cut after the host was given its address",
        UNANSWERED,
        within=60,
        alone="the worker never joins; vLLM waits 1800 s for its GPU",
        do={"node1": "ip link set enp1s0f1np1 down"},
        undo={
            "node1": "ip link set enp1s0f1np1 up; ip address replace 10.213.2.13/24 dev enp1s0f1np1"
        },
    ),
    Fault(
        "the fabric cut between the proof of the wire and the start of the worker",
        r"interconnect_lost",
        within=300,
        alone="the worker never joins; vLLM waits 1800 s for its GPU",
        event=Event(
            seen_by="node0",
            when="docker inspect lab-ray",
            host="node1",
            do="ip link set enp1s0f1np1 down",
            undo="ip link set enp1s0f1np1 up; ip address replace 10.213.2.13/24 dev enp1s0f1np1",
        ),
    ),
    Fault(
        "a switch with a smaller MTU than its hosts",
        r"packets of 9,?000 bytes|MTU",
        within=60,
        alone="hangs in the first large transfer",
        do={
            "node0": "ip link set enp1s0f0np0 mtu 9000",
            "node1": "ip link set enp1s0f1np1 mtu 9000",
        },
        undo={
            "node0": "ip link set enp1s0f0np0 mtu 1500",
            "node1": "ip link set enp1s0f1np1 mtu 1500",
        },
    ),
    Fault(
        "the worker's clock off",
        r"clock.*node1|node1.*clock",
        within=60,
        alone="tokens and certificates are refused later",
        do={
            "node1": f"echo 'import time; time.time = (lambda real: lambda: real() - 7)(time.time)' > {CLOCK}"
        },
        undo={"node1": f"rm {CLOCK}"},
    ),
    Fault(
        "a worker killed while vLLM starts",
        r"ray_worker_died|ray_node_marked_dead",
        within=300,
        alone="ends with: the actor died",
        event=Event(
            seen_by="node0",
            when="docker logs lab-vllm 2>&1 | grep -q 'world_size='",
            host="node1",
            do=KILL_RAY,
        ),
    ),
]
