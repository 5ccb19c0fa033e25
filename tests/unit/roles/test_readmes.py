# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Each role's README says what its argument specs say."""

from __future__ import annotations

import pathlib

import pytest

from docs.role_readmes import ROLES, render

NAMES = sorted(path.parents[1].name for path in ROLES.glob("*/meta/argument_specs.yml"))


@pytest.mark.parametrize("name", NAMES)
def test_readme_is_what_the_specs_say(name: str) -> None:
    role: pathlib.Path = ROLES / name
    written = (role / "README.md").read_text(encoding="utf-8")
    assert written == render(role), "run: python docs/role_readmes.py"
