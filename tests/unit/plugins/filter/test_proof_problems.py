# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Where the addresses of the hosts come from."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter import proof_problems
from tests.unit.plans import plan


def test_proof_problems_reads_addresses_from_the_facts() -> None:
    facts = {
        "spark0": {"interfaces": [{"name": "enP7s7", "addresses": ["10.1.230.180/24"]}]},
        "spark1": {
            "interfaces": [{"name": "enP7s7", "addresses": ["10.1.230.181/24"]}, {"name": "x"}]
        },
    }
    census = {"local": "10.1.230.180", "local_port": 1, "remote": "10.1.230.181", "remote_port": 2}
    found = proof_problems.proof_problems(
        plan(),
        gpus={"spark0": 1, "spark1": 1},
        registered={"192.168.200.12": 1, "192.168.200.13": 1},
        head="spark0",
        master_port="29501",
        facts=facts,
        censuses={"spark0": [census], "spark1": []},
    )
    assert len(found) == 1
    assert found[0].startswith("spark0: is connected to spark1 from 10.1.230.180")


def test_without_ray_the_heads_connections_tell_who_has_joined() -> None:
    joined = {
        "local": "192.168.200.12",
        "local_port": 29502,
        "remote": "192.168.200.13",
        "remote_port": 40000,
    }
    for census, count in (([joined], 0), ([], 1)):
        found = proof_problems.proof_problems(
            plan(),
            gpus={"spark0": 1, "spark1": 1},
            registered=None,
            head="spark0",
            master_port="29501",
            facts={},
            censuses={"spark0": census, "spark1": []},
        )
        assert len(found) == count
