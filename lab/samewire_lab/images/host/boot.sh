#!/bin/bash
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
# Brings a lab host up, first or after a restart: interfaces, cgroup, sshd, dockerd. Runs for ever.
#   boot REGISTRY ADDRESS=INTERFACE...      the first interface carries the default route
set -euo pipefail

registry=$1
shift

# The names that the hardware would give; the default route ends when its link goes down.
gateway=$(ip -4 route show default | awk '{print $3; exit}')
for pair in "$@"; do
    address=${pair%%=*} name=${pair#*=}
    current=$(ip -4 -brief address show to "$address" | awk '{sub(/@.*/, "", $1); print $1}')
    if [[ $current != "$name" ]]; then
        ip link set "$current" down
        ip link set "$current" name "$name"
        ip link set "$name" up
    fi
done
ip route replace default via "$gateway" dev "${1#*=}"

# As Debian's installer writes it: the host's own name is a loopback address.
printf '127.0.0.1\tlocalhost\n127.0.1.1\t%s\n' "$(hostname)" > /etc/hosts

# Containers of this host count towards the host's own limits.
own=$(awk -F: '$2 == "memory" || $1 == "0" {print $3; exit}' /proc/self/cgroup)
echo "$own" > /run/lab-cgroup
if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    # cgroup v2: a group with children has no processes of its own.
    mkdir -p "/sys/fs/cgroup$own/host"
    xargs -rn1 < "/sys/fs/cgroup$own/cgroup.procs" > "/sys/fs/cgroup$own/host/cgroup.procs" || true
    sed 's/ / +/g; s/^/+/' "/sys/fs/cgroup$own/cgroup.controllers" \
        > "/sys/fs/cgroup$own/cgroup.subtree_control"
fi

# A boot empties /tmp.
find /tmp -mindepth 1 -delete

# As systemd's units of the firewalls would.
shopt -s nullglob
for rules in /etc/samewire/*.nft; do
    nft -f "$rules"
done

ssh-keygen -A > /dev/null
mkdir -p /run/sshd
/usr/sbin/sshd

# dockerd starts again when it ends; only the end of the host ends it for good.
trap 'kill -TERM "$daemon"; wait "$daemon"; exit 0' TERM
while true; do
    # A file that a killed dockerd left would keep the next one from starting.
    rm -f /run/docker.pid /run/docker/containerd/containerd.pid
    dockerd --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "${own%/}/docker" \
        --insecure-registry "$registry" --storage-driver overlay2 >> /var/log/dockerd.log 2>&1 &
    daemon=$!
    wait "$daemon" || true
    sleep 1
done
