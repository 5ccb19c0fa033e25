#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: the nftables table of one cluster on one host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_firewall
short_description: Keep strangers from the ports of a cluster on one host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Keeps an nftables table C(inet samewire_CLUSTER), and touches no other rule. It is put in the place of one
    of before in one step.
  - Keeps what it loads in C(/etc/samewire/CLUSTER.nft), so that it can be loaded again after a reboot, and
    beside it what nft said of it then. A table that is not what was loaded is loaded again.
  - Keeps the rules of before, until O(state=settled) says that the change has succeeded, or O(state=restored)
    that it has not.
  - Needs root, and nft.
attributes:
  check_mode:
    description: Says what would change.
    support: full
  diff_mode:
    description: Shows the rules that change.
    support: full
options:
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  host:
    description: Name of the host, for messages.
    type: str
    required: true
  state:
    description:
      - C(present) and C(absent) say whether the table is to be there. C(restored) loads the rules of before,
        where there are any, and C(settled) forgets them.
    type: str
    choices: [present, absent, restored, settled]
    default: present
  interface:
    description: Interface of the interconnect on this host; needed where O(state=present).
    type: str
  members:
    description: Addresses of all hosts of the cluster on the interconnect.
    type: list
    elements: str
    default: []
  ports:
    description: Ports that the cluster is known to use on this host, beside those that the system chooses.
    type: list
    elements: int
    default: []
  api_port:
    description: Port of the API, where this host serves it.
    type: int
  api_clients:
    description: Addresses or networks that may use the API; none lets everybody.
    type: list
    elements: str
    default: []
  trusted:
    description: Addresses or networks that may reach every port.
    type: list
    elements: str
    default: []
  open_ports:
    description: Ports, or ranges as C(11000-11010), of other programs, that everybody may reach.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Keep strangers out
  samewire.vllm.cluster_firewall:
    cluster: spark-pair
    host: spark0
    interface: enp1s0f0np0
    members: [192.168.200.12, 192.168.200.13]
    ports: [6379]
    api_port: 8000
"""

RETURN = r"""
kept:
  description: Whether the rules of before are kept.
  returned: always
  type: bool
program:
  description: Path of nft; empty where it is not installed and not needed.
  returned: always
  type: str
systemd:
  description: Whether systemd boots the host, so that a unit can load the rules at every boot.
  returned: always
  type: bool
"""

import os
import pathlib
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _firewall

# Source: sd_booted(3).
_SYSTEMD = pathlib.Path("/run/systemd/system")
_STATES = ["present", "absent", "restored", "settled"]
_FREE_PORTS = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def _text(file: pathlib.Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _kept_listing(module: AnsibleModule) -> pathlib.Path:
    return pathlib.Path(_firewall.listing_file(module.params["cluster"]))


def _before_change(module: AnsibleModule) -> pathlib.Path:
    return pathlib.Path(_firewall.before_file(module.params["cluster"]))


def _keep(module: AnsibleModule, rules: str) -> None:
    """Keep the rules that are to be replaced; those of before a change that failed are older, and stay."""
    before = _before_change(module)
    if rules and not before.exists():
        partial = before.with_name(f"{before.name}.partial")
        partial.write_text(rules, encoding="utf-8")
        partial.replace(before)


def _listing(module: AnsibleModule, program: str) -> str:
    """Return the table as nft prints it, empty where there is none."""
    code, out, err = module.run_command(
        _firewall.listing_command(program, module.params["cluster"])
    )
    if code and "No such file" not in err:
        module.fail_json(
            msg=f"{module.params['host']}: nft cannot be used ({err.strip()}); run it as root"
        )
    return "" if code else str(out)


def _wanted(module: AnsibleModule) -> str:
    names = (
        "host",
        "cluster",
        "interface",
        "members",
        "ports",
        "api_port",
        "api_clients",
        "trusted",
    )
    try:
        return _firewall.ruleset(
            _firewall.Firewall(
                **{name: module.params[name] for name in names},
                open_ports=module.params["open_ports"],
                first_free=int(_FREE_PORTS.read_text(encoding="ascii").split()[0]),
            )
        )
    except _firewall.FirewallRefused as refused:
        module.fail_json(msg=str(refused))


def _load(module: AnsibleModule, program: str, rules: str, kept: pathlib.Path) -> None:
    kept.parent.mkdir(mode=0o755, exist_ok=True)
    kept.write_text(rules, encoding="utf-8")
    code, _unused, err = module.run_command([program, "-f", str(kept)])
    if code:
        module.fail_json(
            msg=f"{module.params['host']}: nft does not take the firewall's rules ({err.strip()}); "
            "its kernel needs nf_tables and nft_reject_inet, or set firewall_enabled: false"
        )
    _kept_listing(module).write_text(_listing(module, program), encoding="utf-8")


def _remove(module: AnsibleModule, program: str, present: bool, kept: pathlib.Path) -> None:
    if present:
        name = _firewall.table(module.params["cluster"])
        module.run_command([program, "delete", "table", "inet", name], check_rc=True)
    for file in (kept, _kept_listing(module), _before_change(module)):
        file.unlink(missing_ok=True)
    if kept.parent.is_dir() and not os.listdir(kept.parent):
        kept.parent.rmdir()


def _set(module: AnsibleModule, rules: str) -> dict[str, Any]:
    """Have the table hold these rules, or be gone where there are none; return the module's result."""
    host, kept = module.params["host"], pathlib.Path(_firewall.file(module.params["cluster"]))
    program = module.get_bin_path("nft") or ""
    if not program and rules:
        module.fail_json(
            msg=f"{host}: the firewall needs nft, which is not installed; install it (Debian, Ubuntu: "
            f"apt install nftables) on {host}, or set firewall_enabled: false"
        )
    listing = _listing(module, program) if program else ""
    before, whole = _text(kept), listing == _text(_kept_listing(module))
    changed = before != rules or not (listing and whole) if rules else bool(before or listing)
    if changed and not module.check_mode:
        if not rules:
            _remove(module, program, bool(listing), kept)
        else:
            if module.params["state"] == "present" and before != rules:
                _keep(module, before)
            _load(module, program, rules, kept)
    # What somebody else made of the table is shown as nft has it.
    shown = before if whole else listing
    diff = {"before": shown, "after": rules, "before_header": str(kept), "after_header": str(kept)}
    return {"changed": changed, "program": program, "diff": diff if changed else {}}


def _after_change(module: AnsibleModule) -> dict[str, Any]:
    """Restore or forget the rules of before; return the module's result."""
    before = _before_change(module)
    result: dict[str, Any] = {"changed": before.exists(), "program": "", "diff": {}}
    if not result["changed"]:
        return result
    if module.params["state"] == "restored":
        result = _set(module, _text(before))
    if not module.check_mode:
        before.unlink()
    return result


_TEXTS = {"type": "list", "elements": "str", "default": []}

SPEC: dict[str, Any] = {
    "argument_spec": {
        "cluster": {"type": "str", "required": True},
        "host": {"type": "str", "required": True},
        "state": {"type": "str", "choices": _STATES, "default": "present"},
        "interface": {"type": "str"},
        "members": _TEXTS,
        "ports": {"type": "list", "elements": "int", "default": []},
        "api_port": {"type": "int"},
        "api_clients": _TEXTS,
        "trusted": _TEXTS,
        "open_ports": _TEXTS,
    },
    "required_if": [("state", "present", ["interface"])],
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    state = module.params["state"]
    if state in ("present", "absent"):
        result = _set(module, _wanted(module) if state == "present" else "")
    else:
        result = _after_change(module)
    module.exit_json(**result, kept=_before_change(module).exists(), systemd=_SYSTEMD.is_dir())


if __name__ == "__main__":
    main()
