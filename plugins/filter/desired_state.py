# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the variables of an inventory to the desired state, completed and judged."""

from __future__ import annotations

DOCUMENTATION = r"""
name: desired_state
short_description: Complete and judge the desired state of an inventory before any host is touched
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Compares the variables of all hosts with the argument specs of the roles of this collection.
    Names that no role knows, values of the wrong type, missing variables and wrong groups are named.
  - Gives the variables of all roles for each host, with the defaults where the inventory says nothing.
  - Variables of another prefix are left alone, unless they nearly equal one of the roles'.
positional: heads, workers
options:
  _input:
    description: The variables of each host, as C(hostvars).
    type: dict
    required: true
  heads:
    description: Names of the hosts that are to run the Ray head.
    type: list
    elements: str
    required: true
  workers:
    description: Names of the hosts that are to run a Ray worker.
    type: list
    elements: str
    required: true
  required:
    description: Variables that must be set for every host.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Refuse a desired state that cannot be meant
  ansible.builtin.assert:
    that: state.problems | length == 0
    fail_msg: "{{ state.problems | join('\n') }}"
  vars:
    state: "{{ hostvars | samewire.vllm.desired_state(groups['ray_head'], groups['ray_workers']) }}"
"""

RETURN = r"""
_value:
  description: The desired state.
  type: dict
  contains:
    problems:
      description: One sentence for each problem, none where all is well.
      type: list
      elements: str
    settings:
      description: Values of the roles' variables, by name of the host.
      type: dict
"""

import functools
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator, ValidationResult

from ansible_collections.samewire.vllm.plugins.module_utils import _desired_state, _forms

# The loader in C is ten times as fast, where PyYAML has it; both are safe.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"


# Prefixes that no other collection uses: an unknown name that begins so is a mistake.
OWN_PREFIXES = (
    "container_image_",
    "hardware_",
    "interconnect_",
    "model_weights_",
    "ray_head_",
    "ray_node_",
    "ray_worker_",
    "vllm_server_",
)

# What the facts and the plan are kept as, maybe by an earlier playbook of the same run.
KEPT = ("interconnect_info", "interconnect_plan")

Options = Mapping[str, Mapping[str, Any]]


@functools.cache
def role_options() -> dict[str, dict[str, Any]]:
    """Return the options of all roles' entry point main, by name of the variable."""
    options: dict[str, dict[str, Any]] = {}
    for path in sorted(_ROLES.glob("*/meta/argument_specs.yml")):
        text = path.read_text(encoding="utf-8")
        specs = yaml.load(text, Loader=_Loader)["argument_specs"]  # noqa: S506
        options.update(specs["main"].get("options") or {})
    return options


@functools.cache
def _defaults() -> dict[str, Any]:
    """Return the default of each variable that has one, of the type that its role asks for."""
    return {
        name: _validated(option, option["default"]).validated_parameters["value"]
        for name, option in role_options().items()
        if option.get("default") is not None
    }


def _expected(option: Mapping[str, Any]) -> str:
    if "choices" in option:
        return "one of " + ", ".join(str(choice) for choice in option["choices"])
    kind = str(option.get("type", "str"))
    return f"{kind} of {option['elements']}" if "elements" in option else kind


def _description(option: Mapping[str, Any]) -> str:
    text = option.get("description", "")
    first = text if isinstance(text, str) else text[0]
    return str(first).rstrip(".")


def _plain(value: Any) -> Any:
    """Copy a value out of Ansible's lazy containers, which take milliseconds for each copy."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _validated(option: Mapping[str, Any], value: object) -> ValidationResult:
    spec = {key: option[key] for key in ("type", "elements", "choices") if key in option}
    return ArgumentSpecValidator({"value": spec}).validate({"value": _plain(value)})


def _judged(
    host: str, variables: Mapping[str, Any], options: Options, required: Sequence[str]
) -> tuple[list[str], dict[str, Any]]:
    """Return the problems of a host, and what its inventory says, of the types that the roles ask for."""
    known = [*options, *KEPT]
    found = _desired_state.unknown_variables(host, variables, known, OWN_PREFIXES)
    for name in required:
        if name not in variables:
            description = _description(options[name])
            found.append(_desired_state.missing_variable(host, name, description))
    said = {}
    for name in sorted(set(options) & set(variables)):
        option, value = options[name], variables[name]
        result = _validated(option, value)
        said[name] = result.validated_parameters["value"]
        if result.error_messages:
            expected = _expected(option)
        elif not (expected := _forms.expected(name, said[name])):
            continue
        shown = "(a secret)" if option.get("no_log") else value
        found.append(_desired_state.wrong_type(host, name, shown, expected))
    return found, said


def _settings(said: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Return the value of each variable that the inventory or the roles' defaults give; no secrets."""
    values = {**_defaults(), **said}
    return {
        name: values[name]
        for name, option in options.items()
        if not option.get("no_log") and values.get(name) is not None
    }


def desired_state(
    hostvars: Mapping[str, Mapping[str, Any]],
    heads: Sequence[str],
    workers: Sequence[str],
    required: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the desired state: problems, a sentence each, and settings by host."""
    problems = _desired_state.shape_problems(heads, workers)
    settings = {}
    options = role_options()
    hosts = dict.fromkeys([*heads, *workers])
    problems += filter(None, map(_forms.host_problem, hosts))
    for host in hosts:
        wrong, said = _judged(host, hostvars[host], options, required)
        problems += wrong
        settings[host] = {} if wrong else _settings(said, options)
    return {"problems": problems, "settings": settings}


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"desired_state": desired_state}
