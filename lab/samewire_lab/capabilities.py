# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Linux capabilities of the lab's hosts: all classic ones but those that the machine lacks.

A machine without CAP_SYS_RESOURCE refuses privileged containers, so they are named one by one.
"""

# In the order of their numbers, capabilities(7); later ones are not known to every engine.
NAMES = (
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
)


def bounding_set(status: str) -> int:
    """Return the bit mask of `CapBnd` in the text of /proc/<pid>/status."""
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "CapBnd":
            return int(value, 16)
    raise ValueError("no CapBnd in the process status")


def names(mask: int) -> list[str]:
    """Return the names of the capabilities in a bit mask, in the order of their numbers."""
    return [name for number, name in enumerate(NAMES) if mask >> number & 1]
