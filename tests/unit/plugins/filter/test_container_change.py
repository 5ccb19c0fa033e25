# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What brings a container to its state, as Ansible gives the values to a filter."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

from ansible_collections.samewire.vllm.plugins.filter.container_change import container_change
from tests.unit.modules import ROOT


def test_what_a_template_gives_counts_and_not_the_template(tmp_path: pathlib.Path) -> None:
    variables = {
        "word": "one",
        "options": {
            "env": {"A": "{{ word }}"},
            "volumes": ["/{{ word }}", ["{{ word }}"]],
            "labels": {},
            "restart_policy": "no",
        },
    }
    given = tmp_path / "variables.json"
    given.write_text(json.dumps(variables))
    asked = "{} | samewire.vllm.container_change(options, image='x', inputs=[word])"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ansible", "adhoc", "localhost", "-m", "ansible.builtin.debug"),
            *("-a", "msg={{ " + asked + " }}", "-e", f"@{given}"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    options = {
        "restart_policy": "no",
        "labels": {},
        "volumes": ["/one", ["one"]],
        "env": {"A": "one"},
    }
    expected = container_change({}, options, image="x", inputs=["one"])
    assert expected["options"]["labels"]["samewire.options"] in done.stdout
