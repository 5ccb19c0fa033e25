# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The platform class; imported by vLLM only, inside the lab's image."""

import contextlib

from vllm.platforms.cpu import CpuPlatform


class RayCpuPlatform(CpuPlatform):
    """CPU platform whose workers Ray places on its "GPU" resource."""

    ray_device_key = "GPU"

    @classmethod
    def import_kernels(cls) -> None:
        """Load the AVX2 kernels, the only ones in this image: equal results on every processor."""
        # The library registers its operators and has no module export, which Python reports.
        with contextlib.suppress(ImportError):
            import vllm._C_AVX2  # noqa: F401
