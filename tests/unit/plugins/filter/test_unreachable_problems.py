# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which hosts did not answer, and where they were sought."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter import unreachable_problems


def test_unreachable_problems_names_only_those_that_did_not_answer() -> None:
    hostvars = {
        "a": {"reached": {"ping": "pong"}},
        "b": {
            "ansible_host": "10.1.230.181",
            "ansible_user": "me",
            "reached": {"unreachable": True, "msg": "via ssh: Connection timed out"},
        },
        "c": {
            "reached": {
                "failed": False,
                "msg": "Module result deserialization failed: No start of json char found",
                "module_stdout": "",
                "module_stderr": "Traceback\nNameError: name 'x' is not defined\n",
            },
        },
        "d": {"reached": {"msg": "The module interpreter '/usr/bin/python9' was not found."}},
    }
    assert unreachable_problems.unreachable_problems(hostvars, list("abcd"), "reached") == [
        "b: cannot be reached over SSH at me@10.1.230.181 (Connection timed out); check ansible_host, "
        "ansible_user and the key with: ssh me@10.1.230.181",
        "c: does not run Ansible's modules (NameError: name 'x' is not defined); expected Python 3.9 or "
        "newer that starts without an error, try ssh c python3 --version, or set ansible_python_interpreter",
        "d: does not run Ansible's modules (The module interpreter '/usr/bin/python9' was not found.); "
        "expected Python 3.9 or newer that starts without an error, try ssh d python3 --version, or set "
        "ansible_python_interpreter",
    ]
