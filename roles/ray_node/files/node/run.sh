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
vllm_only=""
ray_only=""
IFS=:
for directory in $directories; do
    if [ -x "$directory/ray" ] && [ -x "$directory/vllm" ]; then
        found=$directory
        break
    elif [ -x "$directory/vllm" ]; then
        vllm_only=${vllm_only:-$directory}
    elif [ -x "$directory/ray" ]; then
        ray_only=${ray_only:-$directory}
    fi
done
unset IFS
found=${found:-${vllm_only:-$ray_only}}

absent=""
if [ -z "$found" ]; then
    absent=vllm
elif [ "$1" = ray ] && [ ! -x "$found/ray" ]; then
    absent=ray
fi
if [ -n "$absent" ]; then
    echo "samewire: $(hostname): the image has no program $absent in any of $directories; use an image" \
        "that contains it, or name its directory with ray_node_programs" >&2
    exit 127
fi

PATH="$found:$PATH"
export PATH
if [ "$1" = python ]; then
    shift
    # The interpreter of the programs themselves: the first line of a console script names it.
    script=$found/ray
    [ -x "$script" ] || script=$found/vllm
    interpreter=$(sed -n '1s/^#![[:space:]]*\([^[:space:]]*\).*/\1/p' "$script")
    case "$interpreter" in
    */env | */sh | "") interpreter=python3 ;;
    esac
    exec "$interpreter" "$@"
fi
exec "$@"
