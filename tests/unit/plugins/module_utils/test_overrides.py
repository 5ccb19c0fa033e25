# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Variables of the user and of an image, listed beside what the plan gives."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _environment, _overrides
from tests.unit.plans import plan


def test_a_plan_lists_the_variables_of_the_user() -> None:
    made = _overrides.with_overrides(
        plan(),
        {"spark1": {"RAY_DEDUP_LOGS": 1, "NCCL_DEBUG": "INFO", "HF_TOKEN": "hf_x"}},
    )
    assert {name: entry["overrides"] for name, entry in made["hosts"].items()} == {
        "spark0": [],
        "spark1": [
            {"variable": "HF_TOKEN", "value": "(not shown)", "instead_of": None},
            {"variable": "NCCL_DEBUG", "value": "INFO", "instead_of": None},
            {"variable": "RAY_DEDUP_LOGS", "value": "1", "instead_of": "0"},
        ],
    }
    del made["hosts"]["spark0"]["overrides"], made["hosts"]["spark1"]["overrides"]
    assert made == plan()


def test_a_variable_that_says_what_the_plan_says_is_no_override() -> None:
    made = _overrides.with_overrides(plan(), {"spark0": {"VLLM_HOST_IP": "192.168.200.12"}})
    assert made["hosts"]["spark0"]["overrides"] == []


def test_a_variable_that_breaks_the_promise_is_the_error() -> None:
    assert _overrides.with_overrides(plan(), {"spark1": {"VLLM_HOST_IP": "10.1.230.181"}}) == {
        "schema": "samewire.plan/1",
        "error": {
            "code": "override_refused",
            "message": "spark1: the environment sets VLLM_HOST_IP='10.1.230.181', but the plan needs "
            "'192.168.200.13' so that every layer uses the same wire; remove the override, or pin "
            "interconnect_network or interconnect_interface if the plan is wrong.",
            "hosts": ["spark1"],
        },
    }


def test_the_address_of_ray_is_judged_where_the_head_is_known() -> None:
    wanted = {"spark1": {"RAY_ADDRESS": "10.1.230.180:6379"}}
    made = _overrides.with_overrides(plan(), wanted, head="spark0")
    assert "the plan needs '192.168.200.12:6379'" in made["error"]["message"]


def test_variables_that_are_no_mapping_are_the_error() -> None:
    assert _overrides.with_overrides(plan(), {"spark1": "NCCL_DEBUG=INFO"})["error"] == {
        "code": "override_refused",
        "message": "spark1: ray_node_environment is 'NCCL_DEBUG=INFO', expected a mapping of variables to "
        "values; correct it in the inventory.",
        "hosts": ["spark1"],
    }


def test_an_error_stays_the_error() -> None:
    error = {"schema": "samewire.plan/1", "error": {"code": "ambiguous"}}
    assert _overrides.with_overrides(error, {"spark0": {"VLLM_HOST_IP": "x"}}) == error


def without_message(entry: dict[str, str | None]) -> dict[str, str | None]:
    return {name: value for name, value in entry.items() if name != "message"}


def test_what_an_image_bakes_in() -> None:
    given = _environment.node_environment(plan(), "spark0", "spark0")
    image = [
        "PATH=/usr/bin",
        "NCCL_SOCKET_IFNAME=enp1s0f1np1",
        "GLOO_SOCKET_IFNAME=enp1s0f0np0",
        "NCCL_COMM_ID=10.0.0.1:29500",
        "RAY_AUTH_TOKEN=abc",
        "NCCL_IB_HCA=",
        "EMPTY",
    ]
    assert [without_message(each) for each in _overrides.baked_variables(image, given)] == [
        {"variable": "NCCL_COMM_ID", "image": "10.0.0.1:29500", "given": None},
        {"variable": "NCCL_IB_HCA", "image": "", "given": None},
        {"variable": "NCCL_SOCKET_IFNAME", "image": "enp1s0f1np1", "given": "=enp1s0f0np0"},
        {"variable": "RAY_AUTH_TOKEN", "image": "(not shown)", "given": None},
    ]


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (
            "NCCL_SOCKET_IFNAME=enp1s0f1np1",
            "the image sets NCCL_SOCKET_IFNAME='enp1s0f1np1'; the containers get '=enp1s0f0np0'",
        ),
        ("NCCL_COMM_ID=a:1", "the image sets NCCL_COMM_ID='a:1'; the entry point removes it"),
    ],
)
def test_what_gives_way_is_one_sentence(image: str, message: str) -> None:
    given = _environment.node_environment(plan(), "spark0", "spark0")
    assert [each["message"] for each in _overrides.baked_variables([image], given)] == [message]


def test_a_variable_of_the_user_is_given_in_place_of_the_images() -> None:
    given = _environment.node_environment(
        plan(), "spark0", "spark0", overrides={"NCCL_DEBUG": "INFO", "MASTER_PORT": "1"}
    )
    found = _overrides.baked_variables(["NCCL_DEBUG=WARN", "MASTER_PORT=2"], given)
    assert [without_message(each) for each in found] == [
        {"variable": "MASTER_PORT", "image": "2", "given": "1"},
        {"variable": "NCCL_DEBUG", "image": "WARN", "given": "INFO"},
    ]


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("HF_TOKEN", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("VLLM_API_KEY", True),
        ("db_password", True),
        ("TOKENIZERS_PARALLELISM", False),
        ("NCCL_DEBUG", False),
    ],
)
def test_values_of_secrets_are_not_shown(name: str, hidden: bool) -> None:
    assert _environment.shown(name, "value") == ("(not shown)" if hidden else "value")
