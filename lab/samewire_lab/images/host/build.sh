#!/bin/bash
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
# Runs in a container of the base image: this folder under /inputs/image.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

apt-get update -qq
apt-get install -qq --no-install-recommends \
    curl docker-registry docker.io iptables nftables openssh-server pigz prometheus prometheus-node-exporter \
    python3-requests rsync sudo
apt-get clean
rm -rf /var/lib/apt/lists/* /usr/share/{doc,man,locale}/* /etc/ssh/ssh_host_*

useradd --create-home --shell /bin/bash --no-user-group --gid users operator
useradd --create-home --shell /bin/bash --gid docker dockhand
echo 'operator ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/operator
install -D -m 644 /inputs/image/sshd.conf /etc/ssh/sshd_config.d/lab.conf
install -m 755 /inputs/image/boot.sh /usr/local/sbin/boot
install -D -m 644 -t /etc/samewire-lab /inputs/image/registry-*.yml
