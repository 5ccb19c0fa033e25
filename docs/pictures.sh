#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
#
# The pictures of the README: a deployment from nothing on the lab, which is up, and what a deployment says where the
# switch of the fabric carries smaller packets than its hosts send.
set -euo pipefail
cd "$(dirname "$0")/.."

mtu() {
  docker exec samewire-lab-node0 ip link set enp1s0f0np0 mtu "$1"
  docker exec samewire-lab-node1 ip link set enp1s0f1np1 mtu "$1"
}

samewire teardown -i lab --yes
python docs/terminal.py docs/deploy.svg --columns 120 -- samewire deploy -i lab
samewire teardown -i lab --yes
trap 'mtu 1500' EXIT
mtu 9000
! python docs/terminal.py docs/finding.svg --columns 120 -- samewire deploy -i lab
