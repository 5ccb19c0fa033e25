#!/bin/bash
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
#
# The least that brings vLLM up on the two hosts of the lab: no facts, no plan, no proof, no token, no firewall, and all
# addresses typed in. bench/deployment.py measures a deployment against it.
#
# usage: by_hand.sh up|down
set -euo pipefail

image=10.213.1.1:5000/samewire/vllm-cpu:0.32.0
head=10.213.2.12 head_link=enp1s0f0np0 head_ssh=10.213.1.180
worker=10.213.2.13 worker_link=enp1s0f1np1 worker_ssh=10.213.1.181
programs=/opt/vllm-env/bin

on() {
  ssh -i ~/.samewire/lab/id_ed25519 -o UserKnownHostsFile="$HOME/.samewire/lab/known_hosts" -o BatchMode=yes "root@$1" "$2"
}

# Sockets of vLLM's own are in /tmp unless told otherwise, where the other container does not find them: it hangs then.
# run NAME ADDRESS LINK COMMAND: the container of one part.
run() {
  echo "docker run -d --name by-hand-$1 --network host --ipc host --pid host -v /models/tiny:/models/tiny:ro \
    -v /root/by-hand:/tmp/ray -e PATH=$programs:/usr/bin:/bin -e VLLM_HOST_IP=$2 -e GLOO_SOCKET_IFNAME=$3 \
    -e NCCL_SOCKET_IFNAME==$3 -e RAY_ADDRESS=$head:6379 -e VLLM_CPU_KVCACHE_SPACE=1 -e TORCHDYNAMO_DISABLE=1 \
    -e HF_HUB_OFFLINE=1 -e VLLM_RPC_BASE_PATH=/tmp/ray --entrypoint sh $image -c 'exec $4' >/dev/null"
}

up() {
  ray="ray start --block --num-gpus=1 --num-cpus=2 --object-store-memory=200000000 --disable-usage-stats"
  on $head_ssh "$(run ray $head $head_link "$ray --head --include-dashboard=false --port=6379 --node-ip-address=$head")"
  on $worker_ssh "$(run ray $worker $worker_link "$ray --address=$head:6379 --node-ip-address=$worker")"
  on $head_ssh "until docker exec by-hand-ray sh -c 'ray status' 2>/dev/null | grep -q '/2.0 GPU'; do sleep 0.5; done
    $(run vllm $head $head_link "vllm serve /models/tiny --distributed-executor-backend ray --tensor-parallel-size 2 \
      --enforce-eager --max-model-len=256")"
  until curl --silent --fail --max-time 60 --output /dev/null --header 'Content-Type: application/json' \
    --data '{"model": "/models/tiny", "prompt": "Every layer on", "max_tokens": 16, "temperature": 0}' \
    http://$head_ssh:8000/v1/completions; do sleep 0.2; done
}

down() {
  for host in $head_ssh $worker_ssh; do
    on $host "docker rm -f by-hand-vllm by-hand-ray >/dev/null 2>&1 || true; rm -rf /root/by-hand"
  done
}

"$1"
