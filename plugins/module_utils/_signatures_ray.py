# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of Ray: who joins, under which address, with what, and who dies."""

from __future__ import annotations

from ._signatures import CAUSE, CONSEQUENCE, HINT, LIKELY, READY, SYMPTOM, Rule, Signature
from ._signatures_marks import JOINED

_NODE = r"['\"]node:(?!__internal)[^'\"]+['\"]"
_VERSIONS = (
    r"(?<!patch )version mismatch.*?ray:\s*(?P<ray>\S+)(?=\s).*?python:\s*(?P<python>\S+)(?=\s)"
    r".*?this process.*?ray:\s*(?=\S)"
)

RULES = (
    Rule(
        id="node_ip_mismatch",
        layer="ray",
        role=CAUSE,
        cause="Ray registered a host under another address than the one that vLLM takes for it.",
        remedy="Start Ray with --node-ip-address set to the interconnect address on every host, and set "
        "VLLM_HOST_IP to the same value in the Ray container of that host and in vLLM's.",
        variable="VLLM_HOST_IP",
        link="https://github.com/vllm-project/vllm/issues/7815",
        signatures=(
            Signature("no available node types can fulfill", r"can fulfill.*" + _NODE, lines=4),
            Signature(
                "waiting for creating a placement group",
                r"specs.*" + _NODE,
                HINT,
                lines=3,
            ),
            Signature("cannot provide a placement group", _NODE, LIKELY, lines=3),
            Signature(
                "every node should have a unique ip address",
                r"got n nodes.*n\+\d+ unique",
                lines=3,
            ),
            Signature(
                "every node should have a unique ip address",
                r"got (?P<nodes>\d+) nodes.*\band (?P<addresses>\d+) unique",
                lines=3,
                less=("nodes", "addresses"),
            ),
            # What the kernel says of a silent start: written by role diagnosis (_proof.waits_in_vain).
            Signature("waits in vain for", r"waits in vain for \S+ at \S+ .* on the interconnect"),
            # The sentence of the gate on the nodes: somebody has joined, but not as planned.
            Signature(
                "the nodes of ray are not the planned ones", r"has not joined;.* is not in the plan"
            ),
            # Ray prints these while a node starts, too.
            Signature("find the matched raylet", strength=LIKELY),
            Signature("cannot find a local raylet with the same address", strength=LIKELY),
            Signature("found no raylet with this ip address", strength=LIKELY),
            Signature("no node info found matching attributes"),
            Signature("dp master node", r"missing or dead"),
            Signature("failed to get the ip address, using", strength=LIKELY),
            Signature("node_ip_address.json", r"can'?t find|not found|timed? ?out", LIKELY),
            Signature("node ip address", r"mismatch|does not match|differs", LIKELY),
        ),
        explains=(
            "not_enough_gpus_in_cluster",
            "c10d_master_unreachable",
            "ray_head_unreachable",
            "ray_node_marked_dead",
        ),
        overcome_by=(READY, JOINED),
    ),
    Rule(
        id="duplicate_node_ip",
        layer="vllm",
        role=CAUSE,
        cause="Several hosts announce the same address: VLLM_HOST_IP has one value on all of them.",
        remedy="Set VLLM_HOST_IP on each host to its own interconnect address, never to the head's.",
        variable="VLLM_HOST_IP",
        link="https://github.com/vllm-project/vllm/issues/7699",
        signatures=(
            Signature(
                "every node should have a unique ip address",
                r"got (?P<nodes>\d+) nodes.*\band (?P<addresses>\d+) unique",
                lines=3,
                less=("addresses", "nodes"),
            ),
            Signature(
                "every node should have a unique ip address",
                r"got n nodes.*\band (?:1|n-\d+) unique",
                lines=3,
            ),
            Signature("ip address", r"duplicate(?:d)? (?:node )?ip address"),
            Signature("same ip address", r"node|host", LIKELY),
        ),
    ),
    Rule(
        id="host_specific_env_copied",
        layer="vllm",
        role=CAUSE,
        cause="A value that is right on one host only was copied to the others with the environment.",
        remedy="Set the variable on each host in its Ray container and list it in "
        "ray_non_carry_over_env_vars.json, so that vLLM does not copy the head's value.",
        variable="VLLM_HOST_IP",
        link="https://github.com/vllm-project/vllm/blob/main/vllm/ray/ray_env.py",
        signatures=(
            Signature("cannot assign requested address", r"zmq|addr='?tcp://"),
            Signature(
                "cannot assign requested address", r"server socket.*failed to (?:bind|listen)"
            ),
            Signature(
                "cannot assign requested address",
                r"^(?!.*c10d\].*client socket)(?!.*(?:localhost|127\.0\.0\.1|NCCL))",
                LIKELY,
            ),
            Signature("eaddrnotavail"),
            Signature("ifa != nullptr", r"for: (?![=^])", needs=("env_copied",)),
            Signature("no socket interface found", needs=("env_copied",)),
            Signature(
                "overwriting environment variable",
                r"variable (?:NCCL_SOCKET_IFNAME|GLOO_SOCKET_IFNAME|TP_SOCKET_IFNAME|NCCL_IB_HCA|"
                r"NCCL_IB_GID_INDEX|UCX_NET_DEVICES|VLLM_HOST_IP|VLLM_NIXL_SIDE_CHANNEL_HOST)\b",
            ),
        ),
        explains=("gloo_ifname_invalid", "nccl_ifname_invalid", "wrong_gid_index"),
    ),
    Rule(
        id="not_enough_gpus_in_cluster",
        layer="ray",
        role=CAUSE,
        cause="Ray's cluster has fewer free GPUs than the parallel sizes ask for: a host has not joined, or "
        "another job holds its GPUs.",
        remedy="Compare `ray status` with the plan, start the missing Ray worker, stop other jobs, or lower "
        "the parallel sizes.",
        variable="vllm_server_tensor_parallel_size",
        link="https://github.com/vllm-project/vllm/issues/26028",
        signatures=(
            Signature(
                "no available node types can fulfill",
                r"can fulfill[^{]*\{(?!.{0,200}node:)[^}]*gpu",
                lines=4,
            ),
            Signature("exceeds available gpus", strength=LIKELY),
            Signature("exceeds the total number of available", r"\b[gxt]pus?\b", LIKELY, lines=2),
            Signature("cannot provide a placement group requiring", strength=LIKELY),
            Signature(
                "cannot provide a placement group", strength=LIKELY, without=("node_resource",)
            ),
            Signature("is larger than the number of available gpus", r"world size"),
            Signature("is greater than the number of available gpus"),
            Signature("tensor parallel size may exceed available gpus", strength=LIKELY),
            Signature("not enough gpus"),
            Signature("insufficient gpu"),
            Signature("cannot be scheduled right now", r"gpu", LIKELY, lines=2),
            Signature("not enough resources", r"allocate|placement|DP rank", LIKELY),
            Signature(
                "waiting for creating a placement group", strength=HINT, without=("node_resource",)
            ),
            Signature("pending demands", r"\{'GPU'", HINT, lines=3),
        ),
    ),
    Rule(
        id="driver_node_without_gpu",
        layer="ray",
        role=CAUSE,
        cause="vLLM's driver runs on a host whose GPUs Ray does not offer, or has given to something else.",
        remedy="Start the server on a host with a free GPU of the cluster; check --num-gpus of its Ray and "
        "that no earlier placement group holds the GPU.",
        variable="ray_node_gpus",
        link="https://github.com/vllm-project/vllm/issues/13093",
        signatures=(
            Signature("current node has no", r"current node has no \w+ available"),
            Signature("does not allocate any gpus on the driver node"),
            Signature("on the driver node", r"does not allocate any \w+ on the driver node"),
            Signature("is not included in a placement group"),
            Signature("driver node id", r"not included in a placement", lines=2),
            Signature("engine cannot start without gpu"),
        ),
        explains=("not_enough_gpus_in_cluster",),
    ),
    Rule(
        id="ray_version_mismatch",
        layer="ray",
        role=CAUSE,
        cause="Hosts of the cluster run different versions of Ray, or a Ray of another environment is still "
        "running.",
        remedy="Run `ray stop` everywhere and use the same image, by digest, on all hosts.",
        variable="container_image_name",
        link="https://github.com/ray-project/ray/blob/master/python/ray/_private/utils.py",
        signatures=(
            Signature("version mismatch", _VERSIONS + r"(?!(?P=ray)(?:\s|$))", lines=8),
            Signature("ray version", r"ray version \S+ is required|ray version mismatch"),
            Signature("client ray version", r"does not match"),
            Signature(
                "version mismatch", r"\bray\b.{0,40}version mismatch(?!.*cluster was started)"
            ),
        ),
        explains=("python_version_mismatch",),
    ),
    Rule(
        id="python_version_mismatch",
        layer="ray",
        role=CAUSE,
        cause="Hosts of the cluster run different versions of Python.",
        remedy="Use the same image, by digest, on all hosts.",
        variable="container_image_name",
        link="https://github.com/ray-project/ray/issues/44063",
        signatures=(
            Signature(
                "version mismatch",
                _VERSIONS + r"(?P=ray)(?:\s|$).*?python:\s*(?=\S)(?!(?P=python)(?:\s|$))",
                lines=8,
            ),
            Signature(
                "python version", r"python versions? .*(?:mismatch|do(?:es)? not match|differ)"
            ),
            Signature("unsupported pickle protocol"),
            Signature("code() ", r"code\(\) (?:argument|takes|expected)", LIKELY),
            Signature("unknown opcode", strength=LIKELY),
        ),
    ),
    Rule(
        id="ray_head_unreachable",
        layer="ray",
        role=SYMPTOM,
        cause="Ray cannot reach the head's GCS: wrong address, head not started, another token, or a "
        "filtered port.",
        remedy="Point RAY_ADDRESS and `ray start --address` at the head's interconnect address and port "
        "6379, start the head first, and set RAY_AUTH_MODE alike on all hosts.",
        variable="RAY_ADDRESS",
        link="https://github.com/ray-project/ray/issues/23611",
        signatures=(
            Signature("unable to connect to gcs"),
            Signature("failed to connect to gcs"),
            Signature("unable to connect to redis"),
            Signature("couldn't reconnect to gcs"),
            Signature("failed to connect to redis"),
            Signature("gcs_rpc_client", r"failed to connect|unavailable|timed out", LIKELY),
            Signature(
                "gcs", r"(?:can ?not|could not|couldn't) (?:be )?(?:connect|reach)\w*", LIKELY
            ),
            Signature("could not find any running ray instance", strength=LIKELY),
            Signature("current node timed out during startup", strength=LIKELY),
            Signature("gcs returned an authentication error", strength=LIKELY),
            Signature("invalidauthtoken"),
            Signature("authentication token is missing or incorrect"),
            Signature("no node info found for head node"),
            Signature("failed to connect to ray cluster"),
            Signature(
                "ray cluster", r"ray cluster.*(?:not reachable|unreachable|cannot be reached)"
            ),
            Signature("node registration may not be complete", strength=LIKELY),
            Signature("failed to get cluster id from gcs"),
            Signature("can't connect to the ray head", strength=LIKELY),
            Signature("failed to connect to all addresses", r"gcs|:6379|ray\b.*head", LIKELY),
            Signature("failed to register", r"node to gcs|with gcs", LIKELY),
        ),
        overcome_by=(READY, JOINED),
    ),
    Rule(
        id="ray_node_marked_dead",
        layer="ray",
        role=SYMPTOM,
        cause="The head lost a node: its health checks no longer reach the node's raylet, or the raylet "
        "ended.",
        remedy="Open all ports between the interconnect addresses in both directions, start Ray with "
        "--node-ip-address on that host, and look there for a lack of memory.",
        variable="",
        link="https://github.com/vllm-project/vllm/issues/19960",
        signatures=(
            Signature("has been marked dead"),
            Signature("mistakenly been marked as dead"),
            Signature("marked as dead", r"node|raylet|gcs"),
            Signature("health check failed for node"),
            Signature("failed to check the health of this node"),
            Signature("missing too many heartbeats"),
            Signature("missed too many heartbeats"),
            Signature("nodediederror"),
            Signature("node was terminated unexpectedly"),
            Signature("raylet is terminated", strength=LIKELY),
            Signature("its node has died"),
            Signature(
                "node", r"\bnode\b.{0,60}\b(?:died|is dead)\b.{0,60}(?:health|heartbeat)", LIKELY
            ),
        ),
        explains=("ray_worker_died", "collective_timeout"),
    ),
    Rule(
        id="ray_worker_died",
        layer="ray",
        role=SYMPTOM,
        cause="A rank of vLLM, and with Ray the process that held it, ended without a Python error: "
        "killed, crashed or out of memory.",
        remedy="Read the last lines of that worker's log on its host, and the kernel's log (dmesg) for an "
        "out-of-memory kill or a GPU error.",
        variable="",
        link="https://docs.ray.io/en/latest/ray-core/fault_tolerance/actors.html",
        signatures=(
            Signature("a worker died or was killed"),
            Signature("worker exit type", r"system_error|node_out_of_memory"),
            Signature("worker unexpectedly exits with a connection error"),
            Signature("its worker process has died"),
            Signature("the worker died unexpectedly"),
            Signature("workercrashederror"),
            Signature("rayworkerproc", r"died unexpectedly"),
            Signature("worker proc", r"died unexpectedly"),
            Signature("the actor died unexpectedly", strength=LIKELY),
            Signature("sigsegv received", strength=LIKELY),
            Signature("segmentation fault", strength=LIKELY),
            Signature("fatal python error", strength=LIKELY),
            Signature("actorunavailableerror", strength=LIKELY),
        ),
    ),
    Rule(
        id="port_in_use",
        layer="host",
        role=CAUSE,
        cause="A port that the program must listen on is taken, often by a Ray or a server of before.",
        remedy="Stop the old one (`ray stop`, the old container), see who listens with ss -ltnp, or choose "
        "another port.",
        variable="vllm_server_port",
        link="https://docs.ray.io/en/latest/ray-core/configure.html#ports-configurations",
        signatures=(
            Signature("eaddrinuse"),
            Signature("address already in use", r"^(?!.*\b(?:re)?trying\b)"),
            Signature("errno", r"\[errno 98\]|\"errno\":98"),
            Signature("port", r"\bport \d+ is (?:already )?(?:in use|occupied|taken)(?!.*trying)"),
            Signature("already occupied", r"bind|port"),
            Signature("port is already allocated"),
            Signature("failed to find a valid port"),
            Signature("ray is trying to start at", r"already running"),
            Signature("failed to start the grpc server", r"port"),
            Signature("failed to bind host port"),
            Signature("already in use", r"^(?!.*\b(?:(?:re)?trying|attempt)\b).*\bport\b", LIKELY),
        ),
        explains=("ray_head_unreachable", "c10d_master_unreachable"),
    ),
    Rule(
        id="secondary_error",
        layer="ray",
        role=CONSEQUENCE,
        cause="The messages only report that something else failed before, here or on another host.",
        remedy="Give the logs of all hosts, from the start on: the first error is further up or elsewhere. "
        "Restart Ray on all hosts together.",
        variable="",
        link="https://github.com/aws-samples/aws-do-eks/pull/69",
        signatures=(
            Signature("actorhandlenotfounderror"),
            Signature("engine core initialization failed"),
            Signature("enginecore failed to start"),
            Signature("enginecore encountered"),
            Signature("engine process failed to start"),
            Signature("enginedeaderror"),
            Signature("asyncenginedeaderror"),
            Signature("mqenginedeaderror"),
            Signature("background loop has errored"),
            Signature("engine loop is not running"),
            Signature("see root cause above"),
            Signature("for the root cause", r"stack trace"),
            Signature("failed core proc(s)"),
            Signature("raised in its creation task"),
            Signature("actordiederror"),
            Signature("rayactorerror"),
            Signature("raytaskerror"),
            Signature("ray workers have not started successfully"),
            Signature("worker failed with error"),
            Signature("workerproc initialization failed"),
            Signature("workerproc failed to start"),
            Signature("worker", r"worker \d+ failed to initialize"),
            Signature("failed to recv, got", r"bytes. connection was likely closed"),
            # Clients of the API come and go, too.
            Signature("connection closed by peer", strength=HINT),
            Signature("connection reset by peer", strength=HINT),
            Signature("connection closed by remote peer", strength=HINT),
            Signature("ncclremoteerror"),
            Signature("remote process exited or there was a network error"),
            Signature("broken pipe", r"zmq|sendbytes|c10d|store", HINT),
            Signature("error executing method"),
            Signature("the raylet exited immediately because"),
            Signature("fate shares with the agent"),
            Signature("executor failed"),
        ),
    ),
)
