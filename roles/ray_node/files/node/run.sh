#!/bin/sh
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
# Entry point of every container: finds the image's Ray and vLLM, then becomes the given program.
# Images keep them on PATH or in a virtual environment; SAMEWIRE_PROGRAMS names another directory.
set -euf

for name in ${SAMEWIRE_UNSET:-}; do
    unset "$name"
done
unset SAMEWIRE_UNSET

if [ -n "${SAMEWIRE_API_KEY_FILE:-}" ]; then
    VLLM_API_KEY=$(cat "$SAMEWIRE_API_KEY_FILE")
    # vLLM finds samewire_guard.py here; its front end in Rust would not load it.
    PYTHONPATH="/samewire/server${PYTHONPATH:+:$PYTHONPATH}"
    VLLM_USE_RUST_FRONTEND=0
    export VLLM_API_KEY PYTHONPATH VLLM_USE_RUST_FRONTEND
fi

usual="/opt/vllm-env/bin:/opt/venv/bin:/opt/vllm/bin:/app/.venv/bin:/workspace/.venv/bin:/root/.venv/bin:/opt/conda/bin"
directories="${SAMEWIRE_PROGRAMS:-$PATH:$usual}"

found=""
ray_only=""
IFS=:
for directory in $directories; do
    if [ -x "$directory/ray" ]; then
        if [ -x "$directory/vllm" ]; then
            found=$directory
            break
        fi
        ray_only=${ray_only:-$directory}
    fi
done
unset IFS
found=${found:-$ray_only}
if [ -z "$found" ]; then
    echo "samewire: $(hostname): the image has no program ray in any of $directories; use an image" \
        "that contains Ray, or name its directory with ray_node_programs" >&2
    exit 127
fi

PATH="$found:$PATH"
export PATH
if [ "$1" = python ]; then
    shift
    # The interpreter of Ray itself: the first line of its console script names it.
    interpreter=$(sed -n '1s/^#![[:space:]]*\([^[:space:]]*\).*/\1/p' "$found/ray")
    case "$interpreter" in
    */env | */sh | "") interpreter=python3 ;;
    esac
    exec "$interpreter" "$@"
fi
exec "$@"
