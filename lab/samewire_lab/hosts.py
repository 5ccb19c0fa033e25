# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The two hosts: containers that run sshd and a Docker Engine of their own."""

import io
import subprocess
import tarfile
import threading
from contextlib import suppress
from pathlib import Path

from docker import DockerClient
from docker.errors import NotFound
from docker.models.containers import Container

from samewire_lab import capabilities, spec
from samewire_lab.containers import execute
from samewire_lab.errors import LabError
from samewire_lab.spec import Host
from samewire_lab.state import State
from samewire_lab.waiting import wait_for

_KNOWN_HOSTS = threading.Lock()


def get(client: DockerClient, host: Host) -> Container | None:
    """Return the host's container, or None."""
    try:
        return client.containers.get(host.container)
    except NotFound:
        return None


def current(client: DockerClient, image: str, host: Host) -> bool:
    """Tell whether the host exists and was made from this image."""
    container = get(client, host)
    return container is not None and bool(container.attrs["Config"]["Image"] == image)


def boot(client: DockerClient, image: str, state: State, host: Host) -> None:
    """Create the host where it is missing or outdated, and start it; it needs time to be ready."""
    if not current(client, image, host):
        remove(client, host)
    container = get(client, host)
    if container is None:
        container = _create(client, image, host)
        client.networks.get(spec.FABRIC).connect(container, ipv4_address=host.fabric_address)
        key = state.key.with_suffix(".pub").read_bytes()
        container.put_archive("/etc/ssh", archive({"lab_authorized_keys": key}))
    if container.status != "running":
        container.start()


def copy_model(client: DockerClient, host: Host, model: Path) -> None:
    """Put the model at its path on the host."""
    container = _running(client, host)
    parent, name = spec.MODEL_PATH.rsplit("/", 1)
    files = {f"{name}/{path.name}": path.read_bytes() for path in sorted(model.iterdir())}
    execute(container, ["mkdir", "-p", parent])
    container.put_archive(parent, archive(files))


def wait_ready(client: DockerClient, state: State, host: Host) -> None:
    """Return when the host's Docker Engine answers and all users can log in."""
    container = _running(client, host)
    wait_for(
        lambda: execute(container, ["docker", "version"])[0] == 0,
        60,
        f"Docker Engine on {host.name} did not answer "
        f"(see `docker exec {host.container} cat /var/log/dockerd.log`)",
    )
    _trust(container, state, host)
    for user in spec.USERS:
        wait_for(
            lambda user=user: _ssh(
                state, host, user, "docker" if user != "operator" else "sudo docker"
            ),  # type: ignore[misc]
            30,
            f"{user}@{host.name} ({host.management_address}) did not accept the key {state.key} "
            f"or could not use Docker",
        )


def ready(client: DockerClient, state: State, host: Host) -> bool:
    """Tell whether the host runs and answers right now."""
    container = get(client, host)
    return bool(
        container
        and container.status == "running"
        and state.known_hosts.exists()
        and _ssh(state, host, "root", "docker")
    )


def remove(client: DockerClient, host: Host) -> None:
    """Remove a host and what its engine stored."""
    if container := get(client, host):
        if container.status == "running":
            # Sockets that outlive their processes would keep the network namespace and its links.
            for interface in (host.management_interface, host.fabric_interface):
                execute(container, ["ip", "link", "delete", interface])
        container.remove(force=True, v=True)
    with suppress(NotFound):
        client.volumes.get(host.container).remove(force=True)


def create_key(state: State) -> None:
    """Create the key for all users of all hosts, once."""
    if not state.key.exists():
        state.root.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", spec.PREFIX, "-f", state.key],
            check=True,
        )


def archive(files: dict[str, bytes]) -> bytes:
    """Return a tar archive of files by name, all of root's and readable by all."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _create(client: DockerClient, image: str, host: Host) -> Container:
    mask = capabilities.bounding_set(Path("/proc/self/status").read_text())
    api = client.api
    config = api.create_host_config(
        network_mode=spec.MANAGEMENT,
        # Reaps the orphans of a machine that runs for long.
        init=True,
        cap_add=capabilities.names(mask),
        security_opt=["seccomp=unconfined", "apparmor=unconfined"],
        device_cgroup_rules=["a *:* rwm"],
        cgroupns="host",
        binds={
            "/sys/fs/cgroup": {"bind": "/sys/fs/cgroup", "mode": "rw"},
            host.container: {"bind": "/var/lib/docker", "mode": "rw"},
        },
        # Gone after a restart, as on a real machine.
        tmpfs={"/run": "rw,exec,mode=755"},
        shm_size=spec.HOST_SHM,
        mem_limit=spec.HOST_MEMORY,
    )
    # What the command line calls `systempaths=unconfined`; an engine inside needs /proc and /sys.
    config |= {"MaskedPaths": [], "ReadonlyPaths": []}
    created = api.create_container(
        image,
        [
            spec.REGISTRY_PULL,
            f"{host.management_address}={host.management_interface}",
            f"{host.fabric_address}={host.fabric_interface}",
        ],
        name=host.container,
        hostname=host.name,
        host_config=config,
        networking_config={
            "EndpointsConfig": {
                spec.MANAGEMENT: api.create_endpoint_config(ipv4_address=host.management_address)
            }
        },
    )
    return client.containers.get(created["Id"])


def _running(client: DockerClient, host: Host) -> Container:
    container = get(client, host)
    if container is None or container.status != "running":
        raise LabError(
            f"{host.name} has stopped; see `docker logs {host.container}`, "
            "then `samewire lab down` and `samewire lab up`."
        )
    return container


def _trust(container: Container, state: State, host: Host) -> None:
    """Record the host's key, read through its container and not over the network."""
    _, text = execute(container, ["cat", "/etc/ssh/ssh_host_ed25519_key.pub"])
    kind, key = text.split()[:2]
    know(state, host, f"{kind} {key}")


def know(state: State, host: Host, key: str) -> None:
    """Keep the key of a host in known_hosts, in the place of its former one."""
    # Both hosts are awaited at once; the order of the file must not tell which was first.
    with _KNOWN_HOSTS:
        old = state.known_hosts.read_text() if state.known_hosts.exists() else ""
        others = [line for line in old.splitlines() if line.split()[0] != host.management_address]
        lines = sorted([*others, f"{host.management_address} {key}"])
        state.known_hosts.write_text("".join(f"{line}\n" for line in lines))


def _ssh(state: State, host: Host, user: str, docker: str) -> bool:
    command = [
        "ssh",
        *("-i", str(state.key)),
        *("-o", f"UserKnownHostsFile={state.known_hosts}"),
        *("-o", "StrictHostKeyChecking=yes"),
        *("-o", "IdentitiesOnly=yes"),
        *("-o", "BatchMode=yes"),
        *("-o", "ConnectTimeout=5"),
        f"{user}@{host.management_address}",
        f"{docker} version",
    ]
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode == 0
