# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is copied into a host."""

import io
import tarfile

from samewire_lab import hosts, spec


def test_an_archive_holds_the_files_for_all_to_read() -> None:
    with tarfile.open(fileobj=io.BytesIO(hosts.archive({"a": b"1", "b/c": b"22"}))) as tar:
        assert [(entry.name, entry.size, entry.mode, entry.uid) for entry in tar] == [
            ("a", 1, 0o644, 0),
            ("b/c", 2, 0o644, 0),
        ]


def test_the_hosts_share_no_name_and_no_address() -> None:
    first, second = spec.HOSTS
    assert first.management_interface == second.management_interface
    assert first.fabric_interface != second.fabric_interface
    for host in spec.HOSTS:
        assert host.management_address in map(str, spec.MANAGEMENT_SUBNET.hosts())
        assert host.fabric_address in map(str, spec.FABRIC_SUBNET.hosts())
    assert len({one.management_address for one in spec.HOSTS}) == 2
    assert len({one.fabric_address for one in spec.HOSTS}) == 2
