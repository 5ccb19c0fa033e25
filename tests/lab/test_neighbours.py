# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Two clusters on the same hosts: neither notices when the other comes, changes and goes."""

from __future__ import annotations

import json
import pathlib
import shutil

import pytest

from samewire_lab.waiting import wait_for
from tests.lab.driver import CLUSTER, INVENTORY, ROOT, result
from tests.lab.load import Load
from tests.lab.shell import on

HOSTS = ("node0", "node1")
NEIGHBOUR = {"cluster_name": "neighbour", "ray_node_port": 6390, "vllm_server_port": 8001}

pytestmark = pytest.mark.heals


@pytest.fixture
def inventory(tmp_path: pathlib.Path) -> str:
    """The inventory of a second cluster on the hosts of the lab."""
    folder = tmp_path / "neighbour"
    shutil.copytree(ROOT / INVENTORY, folder)
    (folder / "group_vars/all/neighbour.json").write_text(json.dumps(NEIGHBOUR))
    return str(folder)


def containers(cluster: str) -> dict[str, list[str]]:
    """Return the containers of a cluster with ids and ages, by host."""
    command = (
        f"docker ps --all --quiet --no-trunc --filter label=samewire.cluster={cluster} | "
        "xargs --no-run-if-empty docker inspect --format '{{.Name}} {{.Id}} {{.State.StartedAt}}' | sort"
    )
    return {host: on(host).read(command).splitlines() for host in HOSTS}


def test_two_clusters_on_the_same_hosts(inventory: str) -> None:
    result("deploy")
    first = containers("lab")
    record = json.loads((CLUSTER / "record.json").read_text())
    with Load(record) as load:
        wait_for(lambda: load.right_since(0), 60, "the first cluster does not serve")

        result("deploy", inventory=inventory)
        other = json.loads((CLUSTER.parent / "neighbour/record.json").read_text())
        assert other["nodes"].keys() == record["nodes"].keys()
        assert result("status", inventory=inventory)["verdict"] == "serving"
        with Load(other) as second:
            wait_for(lambda: second.right_since(0), 60, "the second cluster does not serve")
        beside = containers("neighbour")
        assert result("deploy")["changed"] == 0
        assert result("deploy", inventory=inventory)["changed"] == 0
        assert containers("neighbour") == beside

        result("teardown", "--yes", inventory=inventory)
        assert containers("neighbour") == {host: [] for host in HOSTS}
        assert not load.failed_since(0)
    assert containers("lab") == first
    assert result("status")["verdict"] == "serving"
