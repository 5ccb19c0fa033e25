# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Faults between the ranks: NCCL, Gloo and the rendezvous of PyTorch."""

from __future__ import annotations

from ._signatures import CAUSE, HINT, LIKELY, SYMPTOM, Rule, Signature

_LOCAL_GID = r"local ?GIDs? ?::ffff:(?P<net>\d+\.\d+\.\d+)\.\d+"

RULES = (
    Rule(
        id="gloo_loopback_address",
        layer="gloo",
        role=CAUSE,
        cause="Gloo resolved the host's own name to a loopback address and told it to the other ranks.",
        remedy="Set GLOO_SOCKET_IFNAME to the interconnect interface of each host, also in the Ray "
        "containers.",
        variable="GLOO_SOCKET_IFNAME",
        link="https://github.com/pytorch/gloo/issues/223",
        signatures=(
            Signature("connectfullmesh", r"remote=\[?(?:127\.|::1\])"),
            Signature("connectfullmesh", r"local=\[?(?:127\.|::1\])"),
            Signature("connectfullmesh", r"pair\.cc:\d+\] no error", LIKELY),
            Signature("gloo", r"gloo.*connect \[?127\.\d+\.\d+\.\d+\]?:\d+"),
            Signature("refused", r"pair\.cc.*\[127\."),
            Signature("refused", r"refused.*remote=\[127\."),
            Signature("using the loopback address as fallback", strength=HINT),
            Signature(
                "using the loopback address as fallback", needs=("gloo_failed",), strength=LIKELY
            ),
        ),
        explains=("c10d_master_unreachable", "wrong_interface_selected"),
    ),
    Rule(
        id="gloo_ifname_invalid",
        layer="gloo",
        role=CAUSE,
        cause="GLOO_SOCKET_IFNAME does not name an interface of the host that has an address.",
        remedy="Give it one bare name of an existing interface on each host: no list, no ^ and no =.",
        variable="GLOO_SOCKET_IFNAME",
        link="https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/device.cc",
        signatures=(
            Signature("ifa != nullptr"),
            Signature(
                "unable to find address for:", r"unable to find address for: (?!.*rp != nullptr)"
            ),
            Signature("unable to find interface for"),
            Signature("maketcpdevice()", r"can't be empty"),
        ),
    ),
    # Its lines are written by role diagnosis, from the kernel's own table of sockets (_proof.waits_in_vain).
    Rule(
        id="interconnect_lost",
        layer="host",
        role=CAUSE,
        cause="The interconnect joins the hosts no more, although it did when it was proven: an interface is "
        "down, an address is gone, a cable is out, or a host is.",
        remedy="Bring the named interface up with its planned address, see the switch and the cable, and run "
        "samewire deploy again.",
        variable="",
        link="https://docs.kernel.org/networking/operstates.html",
        signatures=(
            Signature("has lost the interconnect:", r"asks \S+ at .*expected from"),
            Signature("gets no answer from", r"no answer from \S+ at \S+ on the interconnect"),
        ),
        explains=(
            "c10d_master_unreachable",
            "collective_timeout",
            "ray_head_unreachable",
            "ray_node_marked_dead",
            "ray_worker_died",
        ),
    ),
    Rule(
        id="hostname_not_resolvable",
        layer="c10d",
        role=CAUSE,
        cause="A host name, of the head or of the host itself, cannot be resolved where it is used.",
        remedy="Use numeric interconnect addresses, or put the names into DNS or /etc/hosts of every host.",
        variable="",
        link="https://github.com/vllm-project/vllm/issues/570",
        signatures=(
            # Code -9 only says that a numeric address is of the other family, and is harmless.
            Signature("gai error", r"gai error: -(?:2|3|5)\b(?! *- *address family)"),
            Signature(
                "name or service not known",
                r"^(?!.*(?:huggingface|hf\.co|hf-mirror|modelscope|pypi|github\.com))",
            ),
            Signature(
                "temporary failure in name resolution",
                r"^(?!.*(?:huggingface|hf\.co|hf-mirror|modelscope|pypi|github\.com))",
            ),
            Signature("no address associated with hostname"),
            Signature("nodename nor servname provided"),
            Signature("could not resolve host", r"^(?!.*(?:huggingface|hf\.co|pypi|github\.com))"),
            Signature("failed to look up the ip address for the hostname"),
            Signature("rp != nullptr", r"unable to find address for"),
            Signature("error encountered when getting address info"),
        ),
        explains=("c10d_master_unreachable", "ray_head_unreachable"),
    ),
    Rule(
        id="ipv6_unsupported",
        layer="vllm",
        role=CAUSE,
        cause="A program opens an IPv4 socket for an IPv6 address.",
        remedy="Use an IPv4 interconnect, or a vLLM release whose helpers know IPv6.",
        variable="VLLM_HOST_IP",
        link="https://github.com/vllm-project/vllm/pull/39619",
        signatures=(
            Signature("address family for hostname not supported", r"gaierror|errno -9"),
            Signature("unsupported ip family"),
            Signature("neither af_inet"),
            Signature(
                "address family not supported by protocol",
                r"^(?!.*(?:c10d|socket\.cpp))",
                LIKELY,
            ),
            Signature("does not appear to be an ipv", r"ipv4.*address|ipv4 or ipv6"),
            Signature("invalid argument", r"addr='tcp://\[?[0-9a-f]*:[0-9a-f:]+\]?:\d+'"),
            Signature(
                "ipv", r"ipv6.{0,40}(?:is |are )?(?:not supported|unsupported|not implemented)"
            ),
        ),
    ),
    Rule(
        id="c10d_master_unreachable",
        layer="c10d",
        role=SYMPTOM,
        cause="A rank cannot connect to the rendezvous of the first rank: wrong address, nothing listening, "
        "or a filtered port.",
        remedy="Start Ray with --node-ip-address and VLLM_HOST_IP both set to the interconnect address of "
        "each host, and allow all TCP between these addresses.",
        variable="VLLM_HOST_IP",
        link="https://github.com/vllm-project/vllm/issues/6650",
        signatures=(
            Signature("client socket has timed out after"),
            Signature("client socket has failed to connect to any network address"),
            Signature(
                "client socket has failed to connect to",
                r"\(errno: (?!99\b)\d+",
                LIKELY,
            ),
            Signature("timed out after", r"seconds? waiting for clients"),
            Signature("connect() timed out. original timeout was"),
            Signature("rendezvoustimeouterror"),
            Signature("rendezvousconnectionerror"),
            Signature("rendezvous", r"the connection to the c10d store has failed"),
            Signature(
                "tcpstore",
                r"(?:fail\w*|unable|could not|timed out) to connect|connect\w* (?:refused|timed out)",
            ),
            Signature("distnetworkerror", r"timed out|refused|failed to connect", LIKELY),
            Signature("key-value store", r"socket timeout|timed? ?out", LIKELY),
            Signature(
                "store", r"torch\.distributed\.DistStoreError: (?:socket timeout|timed out)", LIKELY
            ),
        ),
        explains=("ray_worker_died", "vllm_startup_deadlock"),
    ),
    Rule(
        id="collective_timeout",
        layer="nccl",
        role=SYMPTOM,
        cause="A collective operation timed out: at least one rank stopped taking part.",
        remedy="Look for the first error on the rank that is missing; where there is none, update vLLM and "
        "check the links under load.",
        variable="",
        link="https://github.com/vllm-project/vllm/issues/3071",
        signatures=(
            Signature("watchdog caught collective operation timeout"),
            Signature("collective operation timeout"),
            Signature("watchdog", r"workNCCL|ran for \d+ milliseconds before timing out"),
            Signature("before timing out", r"ran for \d+ milliseconds"),
            Signature("some nccl operations have failed or timed out"),
            Signature("for recv operation to complete", r"timed out waiting \d+ms", LIKELY),
            Signature("for send operation to complete", r"timed out waiting \d+ms", LIKELY),
            Signature("application timeout caused pair closure", strength=LIKELY),
            Signature("barrier timed out", strength=LIKELY),
            Signature("raychanneltimeouterror"),
            Signature("timed out", r"RPC call to \w+ timed out"),
            Signature(
                "nccl", r"heartbeat monitor timed out|watchdog thread (?:terminated|got stuck|hang)"
            ),
            Signature("collective", r"detected mismatch between collectives"),
            Signature("monitoredbarrier", r"failed|timed out"),
        ),
        explains=("ray_worker_died",),
    ),
    Rule(
        id="nccl_ifname_invalid",
        layer="nccl",
        role=CAUSE,
        cause="NCCL_SOCKET_IFNAME matches no interface of the host that is up and has an address.",
        remedy="Name an existing interface on each host; `=name` is exact, a bare name is a prefix.",
        variable="NCCL_SOCKET_IFNAME",
        link="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
        signatures=(
            Signature("no socket interface found"),
            Signature("no usable listening interface found"),
            Signature("no ip interface found"),
            Signature("no interface found", r"NET/Socket|Bootstrap|NCCL_SOCKET_IFNAME"),
            Signature("no device found matching", r"NCCL_OOB_NET_IFNAME"),
            Signature("no device found after excluding", r"NCCL_OOB_NET_IFNAME"),
            Signature(
                "nccl_socket_ifname", r"(?:invalid|not found|no such|does not (?:exist|match))"
            ),
        ),
    ),
    Rule(
        id="wrong_interface_selected",
        layer="nccl",
        role=CAUSE,
        cause="A layer chose an interface that the other hosts cannot reach, as a bridge, a virtual or the "
        "management one.",
        remedy="Name the interconnect interface of each host: NCCL_SOCKET_IFNAME=`=name`, "
        "GLOO_SOCKET_IFNAME=name.",
        variable="NCCL_SOCKET_IFNAME",
        link="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
        signatures=(
            Signature(
                "using",
                r"(?:Bootstrap|NET/Socket|OOB)\s?:? (?:Using)?.*\b(?:docker|veth|virbr|br-|cni|flannel|"
                r"cali|tailscale|tun|wg|wl|usb|lo:)[\w.]*:?",
                needs=("connection_failed",),
            ),
            Signature(
                "using",
                r"(?:Bootstrap|NET/Socket)\s?: Using.*\b(?:docker|veth|virbr|br-|flannel|tailscale|lo:)",
                HINT,
            ),
            Signature("connect to", r"NCCL.*connect to (?:127\.|192\.168\.122\.|169\.254\.|fe80)"),
            Signature("call to connect returned connection timed out", needs=("odd_interface",)),
            # Without an exact name NCCL takes several, and meets the peer by the first.
            Signature(
                "connect to",
                r"connect to \S+<\d+> .*(?:no route to host|timed out)",
                needs=("several_interfaces",),
            ),
            Signature("connect", r"NCCL.*connect.*connection refused", LIKELY),
            Signature(
                "connectfullmesh",
                r"(?:refused|timed out|unreachable).*remote=\[(?!127\.|::1|172\.17\.)",
                LIKELY,
            ),
            Signature("network is unreachable", r"NCCL|connect to|gloo", LIKELY),
            Signature("network interface", r"wrong|incorrect|unexpected", HINT),
        ),
    ),
    Rule(
        id="wrong_gid_index",
        layer="nccl",
        role=CAUSE,
        cause="NCCL uses an entry of an HCA's GID table that the peer cannot reach: empty, link-local, or "
        "of another network.",
        remedy="Leave NCCL_IB_GID_INDEX unset (NCCL 2.21 and newer find it), or set for each host the index "
        "of the RoCE v2 GID of its interconnect address.",
        variable="NCCL_IB_GID_INDEX",
        link="https://github.com/NVIDIA/nccl/issues/769",
        signatures=(
            Signature(
                "ibv_modify_qp",
                r"ibv_modify_qp.*(?:failed|errno)(?!.*retrying)(?!.*"
                + _LOCAL_GID
                + r".*remote ?GIDs? ?::ffff:(?!(?P=net)\.))",
            ),
            Signature("invalid gid"),
            Signature(
                "gid", r"\bGID(?: index| table)?\b.*(?:all.zero|empty|not found|out of range)"
            ),
            Signature("gid", r"unable to (?:query|find).*\bgid\b"),
            Signature("ibv_query_gid", r"fail"),
            Signature("hint: in many cases", r"incorrect GID index", LIKELY),
            Signature("gid table changed", strength=HINT),
            Signature("nccl", r"NCCL error: unhandled system error|ncclSystemError", HINT),
            Signature("got completion", r"local ?Gid fe80.*status|status.*local ?Gid fe80"),
        ),
    ),
    Rule(
        id="rails_not_routed",
        layer="nccl",
        role=CAUSE,
        cause="NCCL paired NICs of different rails, and no route joins these rails.",
        remedy="Set NCCL_CROSS_NIC=0, restrict NCCL_IB_HCA to ports that share a network, or route between "
        "the rails.",
        variable="NCCL_CROSS_NIC",
        link="https://github.com/NVIDIA/nccl/issues/2013",
        signatures=(
            Signature(
                "ibv_modify_qp",
                r"ibv_modify_qp.*failed.*" + _LOCAL_GID + r".*remote ?GIDs? ?::ffff:(?!(?P=net)\.)",
            ),
            Signature("got completion", _LOCAL_GID + r".*remote ?GIDs? ?::ffff:(?!(?P=net)\.)"),
            Signature("hint: in many cases", r"not cross-rail connected", LIKELY),
            Signature(
                "rails", r"\brails?\b.*(?:not (?:routed|connected|reachable)|unreachable|isolated)"
            ),
        ),
        explains=("mtu_mismatch",),
    ),
    Rule(
        id="rdma_fallback_to_socket",
        layer="nccl",
        role=SYMPTOM,
        cause="NCCL carries the data over TCP sockets although RDMA was meant to.",
        remedy="Check NCCL_IB_HCA against the devices in the container, the RDMA libraries of the image and "
        "/dev/infiniband; NCCL_NET=IB makes the fallback an error.",
        variable="NCCL_IB_HCA",
        link="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
        signatures=(
            Signature("net/ofi", r"unexpected group size|fall(?:ing)? ?back"),
            Signature("net/ofi", r"WARN.*(?:unable|fail|no (?:eligible )?provider)", LIKELY),
            Signature("failed to initialize any net plugin"),
            Signature("network ib not found"),
            Signature("network", r"error: network \S+ not found"),
            Signature("using network socket", needs=("rdma_wanted",), lasting=True),
            Signature("via net/socket", needs=("rdma_wanted",), lasting=True, strength=LIKELY),
            Signature(
                "using network socket", strength=HINT, without=("ib_disabled", "plugins_told")
            ),
            Signature("via net/socket", strength=HINT, without=("ib_disabled", "plugins_told")),
            Signature(
                "using",
                r"NET/Socket ?: Using \[",
                HINT,
                without=("ib_disabled", "plugins_told", "rdma_used"),
            ),
            Signature(
                "failed to initialize net plugin ib",
                strength=HINT,
                without=("ib_disabled", "rdma_used"),
            ),
            Signature("net/ib : no device found", needs=("hca_named",), lasting=True),
            Signature("rdma", r"fall(?:ing|s)? ?back to (?:tcp|socket)|rdma (?:is )?not used"),
        ),
    ),
)
