#!/bin/bash
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
# Runs in a container of the base image: wheels under /inputs/wheels, this folder under /inputs/image.
set -euo pipefail

prefix=/opt/vllm-env
site=$prefix/lib/python3.11/site-packages
uv=/inputs/tools/uv
export UV_CACHE_DIR=/opt/uv-cache UV_LINK_MODE=hardlink UV_NO_CONFIG=1

$uv venv --quiet --python /usr/bin/python3.11 $prefix
$uv pip install --quiet --python $prefix/bin/python --no-index --no-deps \
    --find-links /inputs/wheels --requirement /inputs/image/requirements.txt
rm -rf $UV_CACHE_DIR

# What a tiny Llama on a CPU never loads: tests, headers, dashboards, Java, kernels of other processors.
cd $site
find torch/bin -type f -not -name torch_shm_manager -delete
rm -rf torch/{test,include,share} torch/lib/*_test.so torch/lib/libaoti_custom_ops.so \
    torch/lib/libbackend_with_compiler.so torch/lib/libjitbackend_test.so \
    vllm/_C.abi3.so vllm/_C_AVX512.abi3.so \
    ray/{jars,rllib} ray/dashboard/client \
    sympy/**/tests numpy/**/tests
find . -name '*.a' -delete
find . -name '*.so*' -type f -size +1M -not -path './*.libs/*' -exec strip --strip-unneeded {} +
strip --strip-unneeded ray/core/src/ray/{raylet/raylet,gcs/gcs_server}

# vLLM looks for the metadata of a distribution "vllm" and takes the CPU platform by "cpu" in its version.
cp -r /inputs/image/site/. .
distribution() {
    mkdir "$1-$2.dist-info"
    printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n' "$1" "$2" > "$1-$2.dist-info/METADATA"
}
distribution vllm 0.32.0+cpu
distribution samewire_lab_platform 1.0
printf '[vllm.platform_plugins]\nsamewire_lab = samewire_lab_platform:register\n' \
    > samewire_lab_platform-1.0.dist-info/entry_points.txt

# Byte code that never looks at source times, so that no start compiles anything.
find . -name __pycache__ -prune -exec rm -rf {} +
$prefix/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash . || true
