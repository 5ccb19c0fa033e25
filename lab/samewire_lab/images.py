# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The lab's images, each named by the content of what it is built from.

base -> host: a machine with sshd and Docker Engine; base -> vllm: what the cluster serves with.
An image is built by a script that runs in a container of its base, which is then committed: one
layer, and the inputs (gigabytes of Python packages) are mounted and never copied.
"""

import subprocess
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from docker import DockerClient
from docker.errors import ImageNotFound
from docker.types import Mount

from samewire_lab import content, wheels
from samewire_lab.containers import build_name, last_words
from samewire_lab.errors import LabError
from samewire_lab.progress import Step
from samewire_lab.spec import PREFIX
from samewire_lab.state import State

INPUTS = Path(str(files("samewire_lab"))) / "images"
DEBIAN = "bookworm"
# Raised when the way of building changes, which the input files do not show.
RECIPE = "1"

VLLM_ENVIRONMENT = {
    # No C++ compiler is in the image.
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "HF_HUB_OFFLINE": "1",
}


@dataclass(frozen=True)
class Images:
    """Full names of the lab's images, for the inputs that lie in this package."""

    base: str
    host: str
    vllm: str

    @classmethod
    def current(cls, inputs: Path = INPUTS) -> "Images":
        """Compute the names from the inputs."""
        base = content.key(RECIPE, DEBIAN, inputs / "base")
        host = content.key(RECIPE, base, inputs / "host")
        vllm = content.key(RECIPE, base, repr(VLLM_ENVIRONMENT), inputs / "vllm")
        return cls(
            base=f"{PREFIX}/base:{base}",
            host=f"{PREFIX}/host:{host}",
            vllm=f"{PREFIX}/vllm:{vllm}",
        )

    def all(self) -> tuple[str, ...]:
        """Return the three names."""
        return (self.base, self.host, self.vllm)


def exists(client: DockerClient, image: str) -> bool:
    """Tell whether the engine has the image."""
    try:
        client.images.get(image)
    except ImageNotFound:
        return False
    return True


def packages(text: str) -> list[str]:
    """Return the Debian packages of a list with comments."""
    return wheels.requirements(text)


def build_base(client: DockerClient, image: str, step: Step) -> None:
    """Build a minimal Debian from its package archive and import it."""
    include = packages((INPUTS / "base" / "packages.txt").read_text())
    # debootstrap needs a file system with devices, which a temporary one on tmpfs may not be.
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}-", dir="/var/tmp") as directory:
        root = Path(directory, "root")
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(include)}", DEBIAN]
        with subprocess.Popen(
            [*command, str(root)],
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            last = ""
            for line in process.stdout or ():
                last = line.strip()
                step.update(detail=last.removeprefix("I: "))
        if process.returncode:
            raise LabError(f"debootstrap could not build Debian {DEBIAN} on this machine: {last}")
        bulk = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/man")
        excludes = [f"--exclude=./{path}/*" for path in (*bulk, "usr/share/locale")]
        step.update(detail="import")
        with subprocess.Popen(
            ["tar", "--create", "--numeric-owner", "--directory", str(root), *excludes, "."],
            stdout=subprocess.PIPE,
        ) as archive:
            repository, tag = image.split(":")
            client.api.import_image_from_stream(archive.stdout, repository=repository, tag=tag)
        if archive.returncode:
            raise LabError(f"tar could not read the Debian {DEBIAN} that was built in {root}.")


def build_host(client: DockerClient, images: Images, step: Step) -> None:
    """Build the image of a host."""
    _bake(
        client,
        images.base,
        images.host,
        mounts={"image": INPUTS / "host"},
        changes=['ENTRYPOINT ["/usr/local/sbin/boot"]', "CMD []"],
        step=step,
    )


def build_vllm(client: DockerClient, images: Images, state: State, step: Step) -> None:
    """Build the image of the cluster from the downloaded Python packages."""
    uv = state.cache / "tools" / "uv"
    wheels.extract_uv(state.cache / "wheels", uv)
    environment = " ".join(f"{name}={value}" for name, value in VLLM_ENVIRONMENT.items())
    _bake(
        client,
        images.base,
        images.vllm,
        mounts={
            "image": INPUTS / "vllm",
            "wheels": state.cache / "wheels",
            "tools": uv.parent,
        },
        # As published vLLM images have it: starting the image as it is would serve something.
        changes=[
            f"ENV {environment}",
            'ENTRYPOINT ["/opt/vllm-env/bin/vllm", "serve"]',
            "CMD []",
        ],
        step=step,
    )


def vllm_requirements() -> list[str]:
    """Return the pinned Python packages of the vLLM image."""
    return wheels.requirements((INPUTS / "vllm" / "requirements.txt").read_text())


def cached(client: DockerClient) -> list[str]:
    """Return all images of the lab that the engine has, of whatever content key."""
    return [
        tag for image in client.images.list() for tag in image.tags if tag.startswith(f"{PREFIX}/")
    ]


def remove(client: DockerClient, keep: tuple[str, ...] = ()) -> None:
    """Remove the lab's images but those to keep, children before their base."""
    for tag in sorted(cached(client), key=lambda tag: tag.startswith(f"{PREFIX}/base:")):
        if tag not in keep:
            client.images.remove(tag, force=True)


def _bake(
    client: DockerClient,
    base: str,
    image: str,
    *,
    mounts: dict[str, Path],
    changes: list[str],
    step: Step,
) -> None:
    """Run /inputs/image/build.sh in a container of `base` and commit it as `image`."""
    container = client.containers.create(
        base,
        ["/bin/bash", "/inputs/image/build.sh"],
        name=build_name(image),
        # The build reaches what the machine reaches, as it does.
        network_mode="host",
        mounts=[
            Mount(f"/inputs/{name}", str(path), type="bind", read_only=True)
            for name, path in mounts.items()
        ],
    )
    try:
        container.start()
        for output in container.logs(stream=True, follow=True):
            step.update(detail=output.decode(errors="replace").strip().split("\n")[-1][:60])
        if container.wait()["StatusCode"]:
            raise LabError(f"Building {image} failed: {last_words(container)}")
        step.update(detail="commit")
        repository, tag = image.split(":")
        client.api.commit(str(container.id), repository=repository, tag=tag, changes=changes)
    finally:
        container.remove(force=True)
