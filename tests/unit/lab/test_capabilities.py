# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The capabilities of a host: all classic ones that the machine has."""

import pytest

from samewire_lab import capabilities

FULL = "Name:\tbash\nCapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n"
WITHOUT_SYS_RESOURCE = "Name:\tbash\nCapEff:\t000001ffffffffff\nCapBnd:\t000001fffeffffff\n"


def test_a_machine_with_all_gives_the_38_classic_ones() -> None:
    names = capabilities.names(capabilities.bounding_set(FULL))
    assert len(names) == 38
    assert names[0] == "CHOWN"
    assert names[24] == "SYS_RESOURCE"
    assert names[-1] == "AUDIT_READ"


def test_what_the_machine_lacks_is_left_out() -> None:
    full = capabilities.names(capabilities.bounding_set(FULL))
    fewer = capabilities.names(capabilities.bounding_set(WITHOUT_SYS_RESOURCE))
    assert set(full) - set(fewer) == {"SYS_RESOURCE"}


def test_none_of_none() -> None:
    assert capabilities.names(0) == []


def test_a_status_without_the_line_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^no CapBnd in the process status$"):
        capabilities.bounding_set("Name:\tbash\n")
