# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in a container of the image: how many GPUs does NVML see in it?

Prints one JSON object: gpus, a count; mig, whether one of them is cut into instances, which NVML counts
apart; reason, why there are none. Source of the calls and numbers: nvml.h.
"""

from __future__ import annotations

import ctypes
import json


def _said(nvml, code):
    nvml.nvmlErrorString.restype = ctypes.c_char_p
    return f"NVML says: {nvml.nvmlErrorString(code).decode()}"


def visible():
    """Return the GPUs that programs in this container can use."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        return {"gpus": 0, "mig": False, "reason": f"the driver's library is absent ({error})"}
    if code := nvml.nvmlInit_v2():
        return {"gpus": 0, "mig": False, "reason": _said(nvml, code)}
    count = ctypes.c_uint()
    if code := nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return {"gpus": 0, "mig": False, "reason": _said(nvml, code)}
    return {
        "gpus": count.value,
        "mig": any(_is_cut(nvml, number) for number in range(count.value)),
        "reason": None,
    }


def _is_cut(nvml, number):
    device, now, pending = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint()
    if nvml.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(device)):
        return False
    # GPUs that cannot be cut answer that it is not supported, and leave the mode at 0.
    nvml.nvmlDeviceGetMigMode(device, ctypes.byref(now), ctypes.byref(pending))
    return bool(now.value)


if __name__ == "__main__":
    print(json.dumps(visible()))
