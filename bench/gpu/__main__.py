# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Whether NCCL obeys the plan, on one GPU: python -m bench.gpu [CASE...], as root.

Two ranks share the GPU, each in a network namespace that stands for a host. Facts, plan and variables
come from Samewire's own code; NCCL_HOSTID alone makes NCCL take the ranks for two hosts, so that they
speak over the network. The exit code is 1 where a case ends otherwise than expected.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils._environment import bracketed
from bench.gpu import hosts, verdict
from bench.gpu.cases import CASES, Case
from tests.netns.segment import Segment

RANK = Path(__file__).with_name("rank.py")
PORT = 29500
VERSIONS = """
import json, torch
seen = {"torch": torch.__version__}
if torch.cuda.is_available():
    seen["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    seen["gpu"] = torch.cuda.get_device_name()
print(json.dumps(seen))
"""


@dataclass(frozen=True)
class Settings:
    """How each case is run: the Python that has PyTorch, the backend, sizes, and the limit in seconds."""

    python: str
    backend: str
    bytes: int
    rounds: int
    limit: float
    logs: Path

    @property
    def payload(self) -> int:
        """Return the bytes that each of two ranks must send: a ring sends 2 (n - 1) / n of a tensor."""
        return self.bytes * self.rounds


def main() -> None:
    """Run the cases, print the table, and write the results where asked."""
    known = {case.name: case for case in CASES}
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("case", nargs="*", help=f"only these of: {', '.join(known)}")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--backend", choices=("nccl", "gloo"), default="nccl")
    parser.add_argument("--mebibytes", type=int, default=64, help="size of the tensor")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--limit", type=float, default=90, help="seconds that a case may take")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="keep the ranks' logs there")
    asked = parser.parse_args()
    if unknown := set(asked.case) - set(known):
        parser.error(f"expected cases of {', '.join(known)}, got {', '.join(sorted(unknown))}")
    if os.geteuid() != 0 or shutil.which("ip") is None:
        parser.error("network namespaces are made; run it as root, with iproute2 installed")
    with tempfile.TemporaryDirectory() as folder:
        logs = asked.logs or Path(folder)
        logs.mkdir(parents=True, exist_ok=True)
        size = asked.mebibytes << 20
        settings = Settings(
            asked.python, asked.backend, size, asked.rounds, asked.limit, logs.resolve()
        )
        about = machine(settings)
        results = [run(known[name], settings) for name in asked.case or known]
    print(verdict.table(results))
    if asked.json:
        document = {**about, "payload_bytes": settings.payload, "cases": results}
        asked.json.write_text(json.dumps(document, indent=2) + "\n")
    sys.exit(any(each["outcome"] != each["expected"] for each in results))


def machine(settings: Settings) -> dict[str, Any]:
    """Return when and on what the cases run."""
    about = {"date": datetime.now(UTC).date().isoformat(), "kernel": platform.release()}
    about |= json.loads(_output([settings.python, "-c", VERSIONS]))
    if settings.backend == "nccl":
        if "gpu" not in about:
            raise SystemExit(
                f"PyTorch of {settings.python} sees no NVIDIA GPU; rehearse without one with "
                "--backend gloo"
            )
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        about["driver"] = _output(query).split()[0]
    return about


def run(case: Case, settings: Settings) -> dict[str, Any]:
    """Run both ranks of a case, and return its entry of the results."""
    print(f"{case.name}: {case.about}", file=sys.stderr, flush=True)
    with hosts.lan(case.ports) as segment:
        plan = hosts.planned(segment, case.pin)
        before = {host: hosts.sent(segment, host) for host in hosts.HOSTS}
        began = time.monotonic()
        codes = _ended([_start(case, segment, plan, rank, settings) for rank in (0, 1)], settings)
        seconds = time.monotonic() - began
        after = {host: hosts.sent(segment, host) for host in hosts.HOSTS}
    answers = [_answer(settings, case, host) for host in hosts.HOSTS]
    ranks = {
        host: verdict.Rank(
            interface=plan["hosts"][host]["interface"],
            address=plan["hosts"][host]["address"],
            code=code,
            right=answer.get("right"),
            log=_log(settings, case, host).read_text(errors="replace"),
            sent={name: count - before[host][name] for name, count in after[host].items()},
            layers=verdict.LAYERS if settings.backend == "nccl" else (),
        )
        for host, code, answer in zip(hosts.HOSTS, codes, answers, strict=True)
    }
    return {
        "name": case.name,
        "about": case.about,
        "warnings": [each["code"] for each in plan["warnings"]],
        "changes": dict(case.changes),
        "refused": hosts.refusal(plan, case.changes),
        "outcome": verdict.judge(ranks.values(), settings.payload),
        "expected": case.expected,
        "seconds": round(seconds, 1),
        "ranks": {
            host: {
                "planned": f"{rank.interface}:{rank.address}",
                "code": rank.code,
                **answer,
                "bootstrap": [":".join(each) for each in rank.used("Bootstrap")],
                "net": [":".join(each) for each in rank.used("NET/Socket")],
                "sent": rank.sent,
                "log": verdict.telling(rank.log),
            }
            for (host, rank), answer in zip(ranks.items(), answers, strict=True)
        },
    }


def _start(
    case: Case, segment: Segment, plan: Mapping[str, Any], rank: int, settings: Settings
) -> subprocess.Popen[bytes]:
    host = hosts.HOSTS[rank]
    master = bracketed(plan["hosts"][hosts.HOSTS[0]]["address"])
    argv = ["ip", "netns", "exec", segment.full(host), settings.python, str(RANK)]
    answer = _answer_file(settings, case, host)
    answer.unlink(missing_ok=True)
    argv += [str(answer), "--rank", str(rank)]
    argv += ["--master", f"{master}:{PORT}", "--backend", settings.backend]
    argv += ["--bytes", str(settings.bytes), "--rounds", str(settings.rounds)]
    given = hosts.environment(plan, host)
    # As the entry point of the containers does with what an image bakes in.
    ours = {*given, *given["SAMEWIRE_UNSET"].split()}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    environment |= {**(given if case.planned else {}), **case.changes}
    environment |= {"NCCL_DEBUG": "INFO", "NCCL_HOSTID": host}
    with _log(settings, case, host).open("wb") as log:
        return subprocess.Popen(argv, env=environment, stdout=log, stderr=subprocess.STDOUT)


def _ended(ranks: list[subprocess.Popen[bytes]], settings: Settings) -> list[int | None]:
    """Wait for both ranks, and return their exit codes: None for one that was stopped at the limit."""
    deadline = time.monotonic() + settings.limit
    codes: list[int | None] = []
    for rank in ranks:
        try:
            codes.append(rank.wait(max(0, deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            codes.append(None)
    for rank in ranks:
        rank.kill()
        rank.wait()
    return codes


def _log(settings: Settings, case: Case, host: str) -> Path:
    return settings.logs / f"{case.name}.{host}.log"


def _answer_file(settings: Settings, case: Case, host: str) -> Path:
    return settings.logs / f"{case.name}.{host}.json"


def _answer(settings: Settings, case: Case, host: str) -> dict[str, Any]:
    file = _answer_file(settings, case, host)
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _output(argv: list[str]) -> str:
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise SystemExit(
            f"{argv[0]}: expected the versions of PyTorch and the driver, got: {said}; name a Python "
            "that has PyTorch with --python"
        )
    return done.stdout


if __name__ == "__main__":
    main()
