#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: run another module of this collection from its sources, which its action sends along."""

DOCUMENTATION = r"""
module: unpacked
short_description: Run a module of this collection without Ansible's archive
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Ansible packs a module and all that it imports into an archive, which each host unpacks and compiles
    before it does anything. With that a host needs three times as long to read its interfaces.
  - The actions of modules that all hosts run send those files alone which they are made of, to this module.
    There is no need to name it in a playbook.
attributes:
  check_mode:
    description: As the module that it runs.
    support: full
options:
  module:
    description: Full name of the module, as Python imports it.
    type: str
    required: true
  sources:
    description: The sources of the module and of what it imports, by their names; JSON, packed and in base64.
    type: str
    required: true
  arguments:
    description: The arguments of the module, with their defaults; JSON, in base64.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Read the interfaces, which is done in this way
  samewire.vllm.interconnect_info:
"""

RETURN = r"""#"""

import binascii
import json
import sys
import traceback
import zlib
from importlib import import_module
from importlib.machinery import ModuleSpec

# Ansible writes the arguments here.
GIVEN = r"""<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"""

BASIC = "ansible.module_utils.basic"
SPEC = {
    "argument_spec": {
        "module": {"type": "str", "required": True},
        "sources": {"type": "str", "required": True},
        "arguments": {"type": "str", "required": True},
    },
    "supports_check_mode": True,
}


class Sources:
    """Imports from a dictionary of sources by name; a name that others begin with is a package."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, _path=None, _target=None):
        """Return what Python needs to import a name, None for names that are not here."""
        package = any(each.startswith(name + ".") for each in self.sources)
        if name in self.sources or package:
            return ModuleSpec(name, self, origin=name, is_package=package)
        return None

    def create_module(self, spec):
        """Leave it to Python."""

    def exec_module(self, module):
        """Run the source of a module."""
        name = module.__name__
        exec(compile(self.sources.get(name, ""), name, "exec"), module.__dict__)  # noqa: S102


def tell(result):
    """Tell Ansible a result."""
    sys.stdout.write(json.dumps(result))


def run(given):
    """Run the module of these sources, with these arguments."""
    sources = json.loads(zlib.decompress(binascii.a2b_base64(given["sources"])))
    sys.meta_path.insert(0, Sources(sources))
    import_module(BASIC).GIVEN.update(
        arguments=json.loads(binascii.a2b_base64(given["arguments"])),
        check_mode=given["_ansible_check_mode"],
    )
    try:
        import_module(given["module"]).main()
    except Exception as error:  # noqa: BLE001 - Ansible shows what it is told, and else that it was told nothing
        told = f"{type(error).__name__}: {error}"
        tell({"failed": True, "msg": told, "exception": traceback.format_exc()})


def main():
    """Run what was sent, where this Python can."""
    # This file alone is read by any Python 3.
    if sys.version_info >= (3, 9):  # noqa: UP036
        # Without arguments it was begun by what holds options against their documentation, not by Ansible.
        given = json.loads(GIVEN) if GIVEN.startswith("{") else None
        run(given) if given else import_module(BASIC).AnsibleModule(**SPEC)
    else:
        found = "Python " + sys.version.split()[0] + " at " + sys.executable
        tell({"failed": True, "msg": found + ", expected 3.9 or newer"})


if __name__ == "__main__":
    main()
