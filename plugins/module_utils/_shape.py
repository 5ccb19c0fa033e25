# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Where the ranks of a model run, what crosses the wire between them, and which sizes cannot be.

Sources, vLLM 0.32: ranks are ordered replica, stage, shard (vllm/config/model.py); the head's node comes
first (vllm/v1/executor/ray_utils.py, get_bundles_sorted_by_node); each data parallel replica is on one
node, as many on each as on the head (vllm/v1/engine/utils.py, create_dp_placement_groups, "strict"). Without
Ray each host takes as many ranks, the head the first (vllm/engine/arg_utils.py, config/parallel.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _model, _parts

# So many hosts are named in one line; a line about more says how many there are.
_NAMED = 4


@dataclass(frozen=True)
class Sizes:
    """The parallel sizes.

    expert: experts are spread over all ranks of a stage, instead of cut; executor: what spreads the ranks.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: bool = False
    executor: str = _parts.RAY

    @property
    def replica(self) -> int:
        """GPUs of one replica."""
        return self.tensor * self.pipeline

    @property
    def world(self) -> int:
        """GPUs of all replicas."""
        return self.replica * self.data


def sizes(settings: Mapping[str, Any]) -> Sizes:
    """Return the sizes that the variables of the head ask for; Ray's, as long as nobody has chosen."""
    executor = settings.get("vllm_server_executor")
    return Sizes(
        tensor=int(settings["vllm_server_tensor_parallel_size"]),
        pipeline=int(settings["vllm_server_pipeline_parallel_size"]),
        data=int(settings["vllm_server_data_parallel_size"]),
        expert=bool(settings["vllm_server_expert_parallel"]),
        executor=_parts.MP if executor == _parts.MP else _parts.RAY,
    )


@dataclass(frozen=True)
class Rank:
    """One GPU's place: replica of data parallel, stage of pipeline parallel, shard of tensor parallel."""

    rank: int
    host: str
    replica: int
    stage: int
    shard: int


def local_replicas(sizes: Sizes, gpus: Mapping[str, int], head: str) -> int | None:
    """Return how many replicas the head's host takes, the fewest that do, or None where none does.

    Every other host takes as many, or none; so the fewest spread them widest.
    """
    holds = {host: count // sizes.replica for host, count in gpus.items()}
    for local in range(1, min(holds[head], sizes.data) + 1):
        if local * sum(held >= local for held in holds.values()) >= sizes.data:
            return local
    return None


def order(hosts: Iterable[str], head: str) -> list[str]:
    """Return the hosts as the ranks are given to them: the head, then the workers by name."""
    return sorted(hosts, key=lambda host: (host != head, host))


def share(sizes: Sizes, gpus: Mapping[str, int]) -> int | None:
    """Return how many ranks each host takes without Ray, None where that cannot be."""
    each, left = divmod(sizes.world, len(gpus))
    whole = each and (each % sizes.replica == 0 or sizes.replica % each == 0)
    return each if whole and not left and each <= min(gpus.values()) else None


def spans(sizes: Sizes, gpus: Mapping[str, int]) -> int:
    """Return how many ranks of one replica share a host without Ray, 0 where no replica needs two hosts."""
    each = share(sizes, gpus) or 0
    return each if sizes.executor == _parts.MP and sizes.replica > each else 0


def visible_gpus(sizes: Sizes, gpus: Mapping[str, int], present: int) -> str:
    """Return what CUDA may show vLLM on a host that has so many GPUs, empty where it may show all.

    Without Ray vLLM holds two ranks for neighbours by their number and the GPUs that it sees, so it must see
    one for each of its ranks. Source, vLLM 0.32: vllm/distributed/device_communicators/shm_broadcast.py,
    create_from_process_group_single_reader.
    """
    each = spans(sizes, gpus)
    return ",".join(map(str, range(each))) if 0 < each < present else ""


def place(sizes: Sizes, gpus: Mapping[str, int], head: str) -> tuple[Rank, ...]:
    """Return the host of each rank, none where they do not fit; gpus: by name of the host.

    Workers are taken by name; Ray may order three and more hosts otherwise.
    """
    hosts = order(gpus, head)
    if sizes.executor == _parts.MP:
        slots = [host for host in hosts for _unused in range(share(sizes, gpus) or 0)]
    elif sizes.data == 1:
        slots = [host for host in hosts for _unused in range(gpus[host])]
    else:
        local = local_replicas(sizes, gpus, head) or 0
        takes = [host for host in hosts if gpus[host] // sizes.replica >= local]
        slots = [host for host in takes for _unused in range(local * sizes.replica)]
    if len(slots) < sizes.world:
        return ()
    return tuple(
        Rank(
            rank=rank,
            host=slots[rank],
            replica=rank // sizes.replica,
            stage=rank % sizes.replica // sizes.tensor,
            shard=rank % sizes.tensor,
        )
        for rank in range(sizes.world)
    )


def problems(
    sizes: Sizes, gpus: Mapping[str, int], head: str, model: _model.Model | None = None
) -> list[str]:
    """Return why the sizes cannot be, a sentence each; model: None where nothing is known of it."""
    said = _gpu_problems(sizes, gpus, head)
    return said + ([] if model is None else _model_problems(sizes, head, model))


def _gpu_problems(sizes: Sizes, gpus: Mapping[str, int], head: str) -> list[str]:
    present = sum(gpus.values())
    per_host = _listed([f"{host}: {count}" for host, count in sorted(gpus.items())])
    if sizes.world > present:
        wanted = f"{head}: {_told(sizes)} needs {sizes.world} GPUs"
        if len(gpus) == 1:
            return [
                f"{wanted}, got {present} on this host and no worker; add a host to group ray_workers "
                f"or lower {' or '.join(_variables(sizes)[:1])}"
            ]
        return [
            f"{wanted}, got {present} in the cluster ({per_host}); lower "
            f"{' or '.join(_variables(sizes))}, or add hosts"
        ]
    if sizes.executor == _parts.MP:
        if share(sizes, gpus) is not None:
            return []
        return [
            f"{head}: {_told(sizes)} has {sizes.world} ranks, which vLLM without Ray must spread evenly "
            f"over all {len(gpus)} hosts, whole replicas or equal parts of one, got {per_host} GPUs; change "
            f"{' or '.join(_variables(sizes))}, take hosts out of ray_workers, or set "
            "vllm_server_executor: ray"
        ]
    if sizes.data > 1 and local_replicas(sizes, gpus, head) is None:
        return [
            f"{head}: data parallel {sizes.data} needs {sizes.data} replicas of {sizes.replica} GPUs, each "
            f"on one host, as many on every host that has some as on {head}, got {per_host}; lower "
            f"{' or '.join(_variables(sizes))}"
        ]
    return []


def build_problems(sizes: Sizes, gpus: Mapping[str, int], head: str, vllm: str) -> list[str]:
    """Return why a build of vLLM, by its version, cannot take the sizes, a sentence each.

    For the processor there is one device, so two ranks of a host never are neighbours; see `visible_gpus`.
    """
    each = spans(sizes, gpus)
    if each < 2 or not vllm.endswith("+cpu"):
        return []
    return [
        f"{head}: {_told(sizes)} puts {each} ranks of one replica on each host, got vLLM {vllm}, whose build "
        f"for the processor takes one on each without Ray; change {' or '.join(_variables(sizes))}, or set "
        "vllm_server_executor: ray"
    ]


def _model_problems(sizes: Sizes, head: str, model: _model.Model) -> list[str]:
    said = []
    if model.heads % sizes.tensor:
        said.append(_indivisible(sizes, head, model, "attention heads", model.heads))
    elif model.latent is None and max(model.kv_heads, sizes.tensor) % min(
        model.kv_heads, sizes.tensor
    ):
        said.append(_indivisible(sizes, head, model, "key and value heads", model.kv_heads))
    if sizes.expert and not model.experts:
        said.append(
            f"{head}: vllm_server_expert_parallel is true and {model.architecture} has no experts; "
            "expected a mixture of experts, set it to false"
        )
    return said


def _indivisible(sizes: Sizes, head: str, model: _model.Model, what: str, count: int) -> str:
    good = [
        size
        for size in range(1, model.heads + 1)
        if model.heads % size == 0
        and (model.latent is not None or max(model.kv_heads, size) % min(model.kv_heads, size) == 0)
    ]
    near = [max([size for size in good if size < sizes.tensor], default=1)]
    near += [size for size in good if size > sizes.tensor][:1]
    return (
        f"{head}: tensor parallel {sizes.tensor} does not divide the {count} {what} of "
        f"{model.architecture}; set vllm_server_tensor_parallel_size to {' or '.join(map(str, near))}"
    )


def arguments(
    wanted: Sizes,
    gpus: Mapping[str, int],
    head: str,
    address: str,
    host: str = "",
    master_port: int = 0,
) -> list[str]:
    """Return the arguments of vllm serve on a host for the sizes.

    address: the planned one of the head; host, master_port: only without Ray. Source: vLLM 0.32,
    vllm/engine/arg_utils.py. With Ray the head's server starts the replicas of all hosts.
    """
    said = [
        *("--distributed-executor-backend", wanted.executor),
        *("--tensor-parallel-size", str(wanted.tensor)),
        *("--pipeline-parallel-size", str(wanted.pipeline)),
    ]
    if wanted.data > 1:
        said += ["--data-parallel-size", str(wanted.data)]
        if wanted.executor == _parts.RAY:
            local = local_replicas(wanted, gpus, head) or wanted.data
            said += [
                *("--data-parallel-size-local", str(local)),
                *("--data-parallel-backend", "ray"),
            ]
        else:
            said += ["--data-parallel-rpc-port", str(_parts.data_port(master_port))]
        said += ["--data-parallel-address", address]
    if wanted.executor == _parts.MP and len(gpus) > 1:
        said += [
            *("--nnodes", str(len(gpus))),
            *("--node-rank", str(order(gpus, head).index(host))),
            *("--master-addr", address),
            *("--master-port", str(master_port)),
            *([] if host == head else ["--headless"]),
        ]
    return said + (["--enable-expert-parallel"] if wanted.expert else [])


def crossing(sizes: Sizes, ranks: Sequence[Rank], model: _model.Model | None = None) -> list[str]:
    """Return what of the ranks' traffic goes between hosts: tensor, pipeline, data, expert."""
    found = []
    if _spread(ranks, lambda rank: (rank.replica, rank.stage)):
        found.append("tensor")
    following = {(rank.replica, rank.stage, rank.shard): rank.host for rank in ranks}
    if any(
        following.get((rank.replica, rank.stage + 1, rank.shard), rank.host) != rank.host
        for rank in ranks
    ):
        found.append("pipeline")
    # Of a model that is not known the experts may be many; replicas of one without share nothing.
    if _spread(ranks, lambda rank: (rank.stage,)) and (model is None or model.experts):
        if sizes.expert:
            found.append("expert")
        elif sizes.data > 1:
            found.append("data")
    return found


def _spread(ranks: Sequence[Rank], group: Callable[[Rank], tuple[int, ...]]) -> bool:
    """Return whether a group of ranks is on more than one host."""
    hosts: dict[tuple[int, ...], set[str]] = {}
    for rank in ranks:
        hosts.setdefault(group(rank), set()).add(rank.host)
    return any(len(each) > 1 for each in hosts.values())


def explain(sizes: Sizes, ranks: Sequence[Rank], model: _model.Model | None = None) -> list[str]:
    """Return where the ranks run and what crosses the wire, a line each, few for any number of hosts."""
    hosts = list(dict.fromkeys(rank.host for rank in ranks))
    placed = [
        f"{_span(rank.rank for rank in ranks if rank.host == host)} on {host}" for host in hosts
    ]
    # Two hosts have one order, the head's first.
    free = hosts[2:] and sizes.data == 1 and sizes.executor == _parts.RAY
    lines = [
        f"{_told(sizes)}: {_listed(placed)}"
        + ("; Ray may order the workers otherwise" if free else "")
    ]
    traffic = {
        "tensor": "tensor parallel, 2 all-reduces in every layer"
        + (f", {_kib(model.hidden * model.element)} per token each" if model else ""),
        "pipeline": "pipeline parallel, the hidden state once from stage to stage"
        + (f", {_kib(model.hidden * model.element)} per token" if model else ""),
        "data": "data parallel, the tokens of every layer with experts (nothing where a model has none)",
        "expert": "expert parallel, an all-to-all before and after the experts of every layer",
    }
    if len(hosts) > 1:
        crosses = "; ".join(traffic[each] for each in crossing(sizes, ranks, model))
        lines.append(f"over the wire: {crosses or 'no tensors'}")
    return lines


def warnings(
    sizes: Sizes,
    ranks: Sequence[Rank],
    gpus: Mapping[str, int],
    without_rdma: Sequence[str],
) -> list[str]:
    """Return what is worth knowing before it starts; without_rdma: hosts that have no active RDMA port."""
    said = []
    used = Counter(rank.host for rank in ranks)
    split = _spread(ranks, lambda rank: (rank.replica, rank.stage))
    slow = sorted(set(without_rdma) & set(used))
    if split and slow:
        said.append(
            f"tensor parallel {sizes.tensor} is split across hosts, and {_listed(slow)} "
            f"{'has' if len(slow) == 1 else 'have'} no RDMA: every layer waits twice for TCP; "
            + _instead(sizes, used)
        )
    elif split and sizes.tensor <= max(gpus.values()):
        said.append(
            f"tensor parallel {sizes.tensor} is split across hosts though {max(gpus.values())} GPUs are on "
            f"one of them; hosts with a multiple of {sizes.tensor} GPUs keep each group together"
        )
    idle = {host: gpus[host] - used[host] for host in sorted(gpus) if gpus[host] > used[host]}
    if ranks and idle:
        listed = _listed([f"{host}: {count}" for host, count in idle.items()])
        said.append(
            f"{sum(idle.values())} of {sum(gpus.values())} GPUs stay unused ({listed}); raise one of the "
            "parallel sizes to use them"
        )
    return said


def _instead(sizes: Sizes, used: Mapping[str, int]) -> str:
    inner = min(used.values())
    if sizes.data > 1 or inner * len(used) != sizes.replica:
        return "RDMA between the hosts, or smaller sizes, would spare that"
    return (
        f"vllm_server_tensor_parallel_size: {inner} with vllm_server_pipeline_parallel_size: {len(used)} "
        "waits once for each stage"
    )


def _told(sizes: Sizes) -> str:
    parts = [f"{name} parallel {size}" for name, size in _named(sizes).items()]
    return " x ".join(parts) + (" with expert parallel" if sizes.expert else "")


def _variables(sizes: Sizes) -> list[str]:
    return [f"vllm_server_{name}_parallel_size" for name in _named(sizes)]


def _named(sizes: Sizes) -> dict[str, int]:
    data = {"data": sizes.data} if sizes.data > 1 else {}
    return {"tensor": sizes.tensor, "pipeline": sizes.pipeline, **data}


def _span(ranks: Iterable[int]) -> str:
    """Return ranks in words; those of one host follow each other."""
    numbers = sorted(ranks)
    return f"rank {numbers[0]}" if len(numbers) == 1 else f"ranks {numbers[0]}-{numbers[-1]}"


def _listed(items: Sequence[str]) -> str:
    if len(items) <= _NAMED + 1:
        return ", ".join(items)
    return f"{', '.join(items[:_NAMED])} and {len(items) - _NAMED} more hosts"


def _kib(size: int) -> str:
    return f"{size / 1024:,.1f} KiB"
