# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Hold what was seen of a cluster against what was planned and proven, and name its state in one word.

What was seen of a host is the `node` that the module cluster_status returns, or {"unreachable": reason}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import _environment, _parts

SCHEMA = "samewire.status/1"

SERVING = "serving"
DEGRADED = "degraded"
STARTING = "starting"
STOPPED = "stopped"
LOOPING = "restart loop"
ABSENT = "absent"
UNREACHABLE = "unreachable"
VERDICTS = (SERVING, DEGRADED, STARTING, STOPPED, LOOPING, ABSENT, UNREACHABLE)

# A container that ended so often, and not so many seconds ago, will end again: a server may take half an hour
# to load its model before it ends.
_LOOP_RESTARTS = 3
_LOOP_AGE_S = {"ray": 300, "vllm": 1800}

_DEPLOY = "run samewire deploy"
_DIAGNOSE = "samewire diagnose names the cause"


@dataclass(frozen=True)
class Problem:
    """A difference between what should be and what is; message is a sentence that names the host."""

    host: str
    code: str
    message: str


@dataclass(frozen=True)
class Cluster:
    """All that is known of one cluster.

    hosts: what was seen of each host of the inventory; plan, record: of schemas samewire.plan/1 and
    samewire.record/1, empty where this controller has none; start_timeout: seconds that a start may take.
    """

    name: str
    head: str
    hosts: Mapping[str, Mapping[str, Any]]
    plan: Mapping[str, Any]
    record: Mapping[str, Any]
    start_timeout: float = 1800

    def reached(self) -> dict[str, Mapping[str, Any]]:
        """Return the hosts that can be looked at, with their Docker Engines."""
        return {host: node for host, node in self.hosts.items() if not hidden(node)}

    def executor(self) -> str:
        """Return what spreads vLLM over the hosts."""
        return _parts.deployed(self.hosts, self.head)

    def expected(self, host: str) -> tuple[str, ...]:
        """Return which containers a host must have."""
        return _parts.parts(self.executor(), is_head=host == self.head)

    def states(self) -> dict[tuple[str, str], str]:
        """Return the state of each expected container, by host and part."""
        return {
            (host, part): container_state(part, node["containers"][part], healed=self.healthy())
            for host, node in self.reached().items()
            for part in self.expected(host)
        }

    def server(self) -> Mapping[str, Any]:
        """Return what the server says of itself, empty where it says nothing."""
        return self.hosts.get(self.head, {}).get("server") or {}

    def healthy(self) -> bool:
        return bool(self.server().get("healthy"))


def observation(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what was seen of a host from the result of the module cluster_status on it."""
    if "node" in result:
        return dict(result["node"])
    reason = str(result.get("msg", "")).rpartition("via ssh: ")[2].strip()
    return {"unreachable": reason or "no answer"}


def planned_variables(
    plan: Mapping[str, Any], host: str, head: str, ray_port: int
) -> dict[str, str]:
    """Return the variables that the plan gives to a host, without those that its user has overridden.

    Where the plan does not know both hosts there are none.
    """
    hosts = plan.get("hosts") or {}
    if host not in hosts or head not in hosts:
        return {}
    own = {entry["variable"] for entry in hosts[host].get("overrides") or ()}
    planned = _environment.planned_environment(plan, host, head, ray_port)
    return {name: value for name, value in planned.items() if name not in own}


def hidden(node: Mapping[str, Any]) -> str:
    """Return why a host cannot be looked at, empty where it can."""
    return str(node.get("unreachable") or (node.get("docker") or {}).get("reason") or "")


def container_state(part: str, container: Mapping[str, Any] | None, *, healed: bool = False) -> str:
    """Return missing, foreign, gave up, looping, running or stopped.

    part: ray or vllm; healed: whether the server answers, so that restarts of before matter no more.
    """
    if container is None:
        return "missing"
    if not container["own"]:
        return "foreign"
    if container["status"] != "running":
        return "looping" if container["status"] == "restarting" else "stopped"
    if container["gave_up"]:
        return "gave up"
    often = container["restarts"] >= _LOOP_RESTARTS and container["age"] < _LOOP_AGE_S[part]
    return "looping" if container["pause"] or (often and not healed) else "running"


def status(cluster: Cluster, observed_at: str) -> dict[str, Any]:
    """Return the state of a cluster, schema samewire.status/1; observed_at: ISO 8601, UTC."""
    problems = _problems(cluster)
    verdict = _verdict(cluster, problems)
    server = dict(cluster.server())
    return {
        "schema": SCHEMA,
        "cluster": cluster.name,
        "verdict": verdict,
        "reason": _reason(cluster, verdict, problems),
        "observed_at": observed_at,
        "problems": [asdict(problem) for problem in problems],
        "notes": _notes(cluster),
        "hosts": {host: _host(cluster, host, node) for host, node in sorted(cluster.hosts.items())},
        "executor": cluster.executor(),
        "ray": {
            "planned": sorted(_planned(cluster).values()),
            "connected": cluster.hosts.get(cluster.head, {}).get("members"),
        },
        "vllm": {"url": cluster.record.get("url"), **server} if server else None,
        "proven": _proven(cluster.record),
    }


def _verdict(cluster: Cluster, problems: Sequence[Problem]) -> str:
    states = set(cluster.states().values())
    if cluster.healthy():
        return DEGRADED if problems else SERVING
    if len(cluster.reached()) < len(cluster.hosts):
        return UNREACHABLE
    if states == {"missing"}:
        return ABSENT
    if "foreign" in states:
        return DEGRADED
    if states & {"looping", "gave up"}:
        return LOOPING
    if states == {"stopped"}:
        return STOPPED
    # Nodes join while a start goes on, all else must be right from the beginning.
    lasting = [problem for problem in problems if problem.code not in ("ray_node", "server")]
    return STARTING if states == {"running"} and _is_young(cluster) and not lasting else DEGRADED


def _is_young(cluster: Cluster) -> bool:
    container = cluster.hosts[cluster.head]["containers"]["vllm"]
    return bool(container["age"] < cluster.start_timeout)


def _reason(cluster: Cluster, verdict: str, problems: Sequence[Problem]) -> str:
    if verdict == SERVING and not cluster.plan:
        return "vLLM answers; this controller has no plan to hold the rest against"
    if verdict == SERVING:
        count = len(cluster.hosts)
        has = "Ray has" if cluster.executor() == _parts.RAY else "its parts run on"
        what = "node" if cluster.executor() == _parts.RAY else "host"
        return f"vLLM answers, and {has} {count} {what}{'' if count == 1 else 's'}, as planned"
    if verdict == STARTING:
        age = cluster.hosts[cluster.head]["containers"]["vllm"]["age"]
        return f"vLLM: {cluster.server().get('progress') or 'starting'}, for {age:.0f} s"
    if verdict == STOPPED:
        return "all its containers are stopped; samewire start brings them back"
    if verdict == ABSENT:
        return f"no host has a container of it; {_DEPLOY}"
    first = {LOOPING: ("looping", "gave_up"), UNREACHABLE: ("unreachable",)}.get(verdict, ())
    ordered = sorted(problems, key=lambda problem: problem.code not in first)
    return ordered[0].message


def _problems(cluster: Cluster) -> list[Problem]:
    """Return all differences, those that explain others first."""
    states = cluster.states()
    found = [
        Problem(host, "unreachable", f"{host}: cannot be looked at: {hidden(node)}; {_cure(node)}")
        for host, node in sorted(cluster.hosts.items())
        if hidden(node)
    ]
    if states and set(states.values()) == {"missing"}:
        return found
    for (host, part), state in sorted(states.items()):
        found += _container_problems(cluster, host, part, state)
    for host, node in sorted(cluster.reached().items()):
        for part in sorted(set(node["containers"]) - set(cluster.expected(host))):
            if (node["containers"][part] or {}).get("own"):
                text = f"{host}: runs container {cluster.name}-{part}, expected {_elsewhere(cluster, part)}"
                found.append(Problem(host, "stray", f"{text}; {_DEPLOY}, or remove it"))
        found += _address_problems(cluster, host, node)
        if node["firewall"] is False:
            text = (
                f"{host}: the firewall of the cluster is not loaded, expected its table in nftables"
            )
            found.append(Problem(host, "firewall", f"{text}; {_DEPLOY}"))
    found += _plan_problems(cluster)
    if "running" in states.values():
        found += _ray_problems(cluster) + _server_problems(cluster)
    return found


def _elsewhere(cluster: Cluster, part: str) -> str:
    """Return where a part belongs that a host must not have."""
    if part == "vllm":
        return f"it on {cluster.head} alone"
    return "none, since vLLM runs without Ray"


def _cure(node: Mapping[str, Any]) -> str:
    if node.get("unreachable"):
        return "see whether it is up, and check ansible_host, ansible_user and its key"
    return "start Docker on it"


def _container_problems(cluster: Cluster, host: str, part: str, state: str) -> list[Problem]:
    name = f"{cluster.name}-{part}"
    container = cluster.hosts[host]["containers"][part]
    if state == "missing":
        text = f"{host}: has no container {name}, expected the one of the deployment; {_DEPLOY}"
        return [Problem(host, "missing", text)]
    if state == "foreign":
        return [Problem(host, "foreign", foreign(host, name, cluster.name, container["label"]))]
    found = []
    if state in ("looping", "gave up"):
        times = (
            f"was restarted {container['restarts']} times, last exit code {container['exit_code']}"
        )
        what = f"and goes on so; {_DIAGNOSE}"
        if state == "gave up":
            what = f"and is left alone now; {_DIAGNOSE}, samewire restart begins anew"
        elif container["pause"]:
            what = f"and waits for {container['pause']}; {_DIAGNOSE}"
        text = f"{host}: container {name} {times}, {what}"
        found.append(Problem(host, state.replace(" ", "_"), text))
    elif state == "stopped" and set(cluster.states().values()) != {"stopped"}:
        text = f"{host}: container {name} is {container['status']}, expected running; run samewire start"
        found.append(Problem(host, "stopped", text))
    elif state == "running" and container["health"] == "unhealthy":
        text = f"{host}: container {name} fails its health check, expected healthy; {_DIAGNOSE}"
        found.append(Problem(host, "unhealthy", text))
    differing = container["environment_differs"]
    if differing:
        text = (
            f"{host}: container {name} has another {', '.join(differing)} than the plan; {_DEPLOY}"
        )
        found.append(Problem(host, "environment", text))
    proven = (cluster.record.get("image") or {}).get("digest")
    if proven and proven not in container["digests"]:
        text = (
            f"{host}: container {name} runs image {container['image']} with another digest than was proven "
            f"({proven}); {_DEPLOY}"
        )
        found.append(Problem(host, "image", text))
    return found


def foreign(host: str, name: str, cluster: str, label: str | None) -> str:
    """Return that a container of the cluster's name is somebody else's; label: whose it says it is."""
    got = f"of cluster {label}" if label else "without that label"
    return (
        f"{host}: container {name} is not Samewire's: expected the label samewire.cluster={cluster}, got one "
        f"{got}; rename the cluster, or rename or remove that container"
    )


def _planned(cluster: Cluster) -> dict[str, str]:
    return {host: str(own["address"]) for host, own in (cluster.plan.get("hosts") or {}).items()}


def _address_problems(cluster: Cluster, host: str, node: Mapping[str, Any]) -> list[Problem]:
    planned = (cluster.plan.get("hosts") or {}).get(host)
    addresses = node["addresses"]
    if (
        not planned
        or not addresses
        or planned["address"] in addresses.get(planned["interface"], ())
    ):
        return []
    address, interface = planned["address"], planned["interface"]
    places = [name for name, own in sorted(addresses.items()) if address in own]
    has = ", ".join(addresses.get(interface, ())) or "none"
    got = f"it on {', '.join(places)}" if places else f"{has} there"
    text = (
        f"{host}: the interconnect address has moved: expected {address} on {interface}, got {got}; give it "
        f"back, or {_DEPLOY} for a new plan"
    )
    return [Problem(host, "address", text)]


def _plan_problems(cluster: Cluster) -> list[Problem]:
    planned = set(_planned(cluster))
    if not planned:
        return []
    return [
        *(
            Problem(host, "not_planned", f"{host}: is not in the plan of the deployment; {_DEPLOY}")
            for host in sorted(set(cluster.hosts) - planned)
        ),
        *(
            Problem(
                host,
                "not_listed",
                f"{host}: is in the plan of the deployment, but not in the inventory; {_DEPLOY}",
            )
            for host in sorted(planned - set(cluster.hosts))
        ),
    ]


def _ray_problems(cluster: Cluster) -> list[Problem]:
    members = cluster.hosts.get(cluster.head, {}).get("members")
    planned = _planned(cluster)
    if members is None or not planned:
        return []
    ray = cluster.executor() == _parts.RAY
    what = "Ray's head" if ray else "the head's vLLM"
    part = "ray" if ray else "vllm"
    found = [
        Problem(
            host,
            "ray_node",
            f"{host}: is not connected to {what} from {address}, as planned; see docker logs "
            f"{cluster.name}-{part} on {host}",
        )
        for host, address in sorted(planned.items())
        # The head's own Ray is connected to it, too.
        if address not in members and (ray or host != cluster.head)
    ]
    # What runs on the head's own host may also come from its loopback.
    strangers = set(members) - set(planned.values()) - {"127.0.0.1", "::1"}
    return found + [
        Problem(
            cluster.head,
            "ray_node",
            f"{cluster.head}: {address} is connected to {what}, but not in the plan; stop "
            f"{'Ray' if ray else 'vLLM'} there",
        )
        for address in sorted(strangers)
    ]


def _server_problems(cluster: Cluster) -> list[Problem]:
    server, head = cluster.server(), cluster.head
    if not server:
        return []
    if not server["healthy"]:
        text = f"{head}: vLLM is not healthy ({server['answer']}), at: {server['progress']}; {_DIAGNOSE}"
        return [Problem(head, "server", text)]
    model = cluster.record.get("model")
    if model and server["models"] and model not in server["models"]:
        got = ", ".join(server["models"])
        text = f"{head}: vLLM serves {got}, expected {model}; {_DEPLOY}"
        return [Problem(head, "model", text)]
    return []


def _notes(cluster: Cluster) -> list[str]:
    notes = []
    if not cluster.plan:
        notes.append(
            "this controller has no plan of the cluster, so addresses and variables were not compared"
        )
    for host, node in sorted(cluster.reached().items()):
        if node["kept"]:
            notes.append(
                f"{host}: {' and '.join(node['kept'])} from before a change that did not end; {_DEPLOY}"
            )
        for part in cluster.expected(host):
            container = node["containers"][part]
            if container and container["own"] and container["restarts"]:
                times = container["restarts"]
                notes.append(
                    f"{host}: container {cluster.name}-{part} was restarted {times} "
                    f"time{'' if times == 1 else 's'} since it was started, last "
                    f"{duration(container['age'])} ago"
                )
    return notes


def _host(cluster: Cluster, host: str, node: Mapping[str, Any]) -> dict[str, Any]:
    planned = (cluster.plan.get("hosts") or {}).get(host) or {}
    reason = hidden(node)
    states = {} if reason else node["containers"]
    return {
        "role": "head" if host == cluster.head else "worker",
        "reachable": not reason,
        "reason": reason or None,
        "planned": {key: planned.get(key) for key in ("address", "interface")},
        "addresses": node.get("addresses"),
        "containers": {
            part: {
                "state": container_state(part, states[part], healed=cluster.healthy()),
                **(states[part] or {}),
            }
            for part in cluster.expected(host)
            if states
        },
        "gpus": node.get("gpus"),
    }


def _proven(record: Mapping[str, Any]) -> dict[str, Any] | None:
    if not record:
        return None
    return {key: record.get(key) for key in ("proven_at", "model", "image", "versions", "network")}


def report(found: Mapping[str, Any]) -> list[str]:
    """Return a status for people, a line each: the verdict, the hosts, the server, what is wrong."""
    lines = [f"{found['cluster']}: {found['verdict']}: {found['reason']}"]
    lines += [
        f"{host} ({own['role']}): {host_line(own)}" for host, own in sorted(found["hosts"].items())
    ]
    if found["vllm"]:
        lines.append(f"vLLM: {server_line(found['vllm'])}")
    lines += [f"Problem: {message}" for message in further_problems(found)]
    lines += [f"Note: {note}" for note in found["notes"]]
    return lines


def further_problems(found: Mapping[str, Any]) -> list[str]:
    """Return the problems of a status that are not its reason already."""
    messages = [problem["message"] for problem in found["problems"]]
    return [message for message in messages if message != found["reason"]]


def host_line(own: Mapping[str, Any]) -> str:
    """Return containers, address and GPUs of a host as one line."""
    if not own["reachable"]:
        return f"cannot be looked at: {own['reason']}"
    parts = [f"{part} {container_line(each)}" for part, each in own["containers"].items()]
    if own["planned"]["address"]:
        parts.append(f"planned {own['planned']['address']} on {own['planned']['interface']}")
    return ", ".join([*parts, gpu_line(own)])


def container_line(container: Mapping[str, Any]) -> str:
    """Return the state of a container, and for how long it has been running."""
    if container["state"] not in ("running", "looping"):
        return str(container["state"])
    return f"{container['state']} for {duration(container['age'])}"


def gpu_line(own: Mapping[str, Any]) -> str:
    """Return the memory of a host's GPUs, or why it is not known."""
    gpus = own["gpus"]
    if gpus["reason"] or not gpus["list"]:
        return f"GPU memory unknown: {gpus['reason'] or 'no GPU'}"
    known = [gpu for gpu in gpus["list"] if gpu["memory_total_mib"]]
    count = f"{len(gpus['list'])} GPU{'' if len(gpus['list']) == 1 else 's'}"
    if not known:
        return f"{count} that share the host's memory"
    used, total = (sum(gpu[f"memory_{key}_mib"] or 0 for gpu in known) for key in ("used", "total"))
    return f"{count}, {used / 1024:.1f} of {total / 1024:.1f} GiB used"


def server_line(server: Mapping[str, Any]) -> str:
    """Return what a server does as one line."""
    if not server["healthy"]:
        return f"not healthy ({server['answer']}), at: {server['progress']}"
    parts = [", ".join(server["models"]) or "models unknown"]
    if server["running"] is not None:
        parts.append(f"{server['running']:.0f} running, {server['waiting'] or 0:.0f} waiting")
        parts.append(f"{server['requests'] or 0:.0f} requests done")
        parts.append(f"{server['generation_tokens'] or 0:.0f} tokens generated")
    last = server["last_request"]
    parts.append(
        f"last request {last['at']} ({last['status']})" if last else "no request in its log"
    )
    return "; ".join(parts)


def duration(seconds: float) -> str:
    """Return seconds as the two largest of days, hours, minutes and seconds."""
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (left, "s")]
    first = next((index for index, unit in enumerate(units) if unit[0]), 3)
    shown = [f"{number} {name}" for number, name in units[first : first + 2] if number]
    return " ".join(shown) or "0 s"
