# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which texts the variables may hold, where more depends on them than that they arrive literally.

A name becomes a part of paths and of names of containers, a path a part of a bind mount, a secret a header
of HTTP. All other texts are passed on as they are, as one argument or as the value of one variable, and never
to a shell.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Any

from . import _tls

# The kernel takes no longer argument or variable (MAX_ARG_STRLEN, with its name), and none with a NUL in it.
_LONGEST = 100_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,252}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET = re.compile(r"[!-~]*")
_IMAGE = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9_.:/@\[\]-]*")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,\[\]<>=!~ -]*")
_ADDRESS = re.compile(r"[A-Za-z0-9\[:][A-Za-z0-9_.:%\]-]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_KEY_OPTION = re.compile(r"--(api[-_]key|hf[-_]token)(=.*)?", re.DOTALL)

CLUSTER = "a letter or a digit, then letters, digits, '_', '.' and '-', at most 63 in all"
_TEXT = f"text in UTF-8 without NUL, of at most {_LONGEST} bytes"
_PATH = "an absolute path, or one that begins with '~', without ':', '..' and control characters"


def is_cluster(name: str) -> bool:
    """Tell whether a cluster may have a name: Docker's rule for containers, and room for a suffix."""
    return bool(_NAME.fullmatch(name))


def host_problem(name: str) -> str | None:
    """Return the sentence for a name of a host that cannot become part of a path, None for any other."""
    if _HOST.fullmatch(name):
        return None
    return (
        f"{shown(name)}: is no name for a host, expected a letter or a digit, then letters, digits, '_', "
        "'.', ':' and '-'; rename it in the inventory and keep its address in ansible_host"
    )


def shown(value: object) -> str:
    """Return a value as a message shows it: in one line, and not all of a long one."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def expected(variable: str, value: Any) -> str | None:
    """Return what a variable must be, where a value of the right type is something else; else None."""
    if not all(map(_is_text, _texts(value))):
        return _TEXT
    form, holds = _FORMS.get(variable, ("", _anything))
    return None if holds(value) else form


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from (*_texts(name), *_texts(item))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _is_text(text: str) -> bool:
    try:
        return "\0" not in text and len(text.encode("utf-8")) <= _LONGEST
    except UnicodeEncodeError:
        return False


def _anything(_unused: Any) -> bool:
    return True


def _is_no_or(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: not text or bool(pattern.fullmatch(text))


def _matching(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: bool(pattern.fullmatch(text))


def _without_control(text: str) -> bool:
    return not _CONTROL.search(text)


def _is_path(text: str) -> bool:
    return (
        text.startswith(("/", "~"))
        and ":" not in text
        and ".." not in text.split("/")
        and _without_control(text)
    )


def _is_model(text: str) -> bool:
    return (
        _is_path(text)
        if text.startswith(("/", "~"))
        else text[:1].isalnum() and _without_control(text)
    )


def _is_served_name(text: str) -> bool:
    return _without_control(text) and not text.startswith("-")


def _are_mounts(mounts: list[str]) -> bool:
    return all(
        _without_control(mount)
        and 2 <= len(mount.split(":")) <= 3
        and mount.split(":")[0]
        and mount.split(":")[1].startswith("/")
        for mount in mounts
    )


def _is_environment(variables: dict[str, Any]) -> bool:
    return all(
        _VARIABLE.fullmatch(str(name)) and not isinstance(value, (dict, list))
        for name, value in variables.items()
    )


def _keep_no_secret(arguments: list[str]) -> bool:
    return not any(_KEY_OPTION.fullmatch(argument) for argument in arguments)


def _are_networks(texts: list[str]) -> bool:
    try:
        return all(ipaddress.ip_network(text, strict=False) for text in texts)
    except ValueError:
        return False


def _are_names(texts: list[str]) -> bool:
    return all(map(_tls.name, texts))


def _is_port_up_to(last: int) -> Callable[[int], bool]:
    return lambda number: 1 <= number <= last


_SECRET_FORM = (
    "printable ASCII without spaces, as a header of HTTP can carry it",
    _matching(_SECRET),
)
_PATH_FORM = (_PATH, _is_path)
_FORMS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "cluster_name": (CLUSTER, is_cluster),
    "container_image_base": ("empty, or a reference of an image", _is_no_or(_IMAGE)),
    "container_image_name": ("a reference of an image, as registry/name:tag", _matching(_IMAGE)),
    "container_image_ray": (
        "a requirement of pip, as ray[default]==2.60.0",
        _matching(_REQUIREMENT),
    ),
    "ray_node_auth_token": _SECRET_FORM,
    "ray_node_directory": _PATH_FORM,
    "ray_node_environment": (
        "names of letters, digits and '_', each with one value",
        _is_environment,
    ),
    "ray_node_hub_cache": _PATH_FORM,
    "ray_node_mounts": ("bind mounts as /data:/data:ro, without control characters", _are_mounts),
    # A cluster beside another takes the next three, too.
    "ray_node_port": ("a port from 1 to 65532", _is_port_up_to(65532)),
    "ray_node_programs": ("a path without control characters", _without_control),
    "vllm_server_api_key": _SECRET_FORM,
    "vllm_server_extra_args": (
        "arguments without secrets, which every process of the host can read; give them in "
        "vllm_server_api_key and vllm_server_hf_token",
        _keep_no_secret,
    ),
    "vllm_server_hf_token": _SECRET_FORM,
    "vllm_server_host": ("an address", _matching(_ADDRESS)),
    "vllm_server_metrics_clients": (
        "addresses or networks, as 10.1.2.3 or 10.0.0.0/8",
        _are_networks,
    ),
    "vllm_server_model": (f"a model of the hub, or {_PATH}", _is_model),
    "vllm_server_port": ("a port from 1 to 65535", _is_port_up_to(65535)),
    "vllm_server_tls_names": (
        "DNS names or addresses, as api.example.org, *.example.org or 10.1.2.3",
        _are_names,
    ),
    "vllm_server_served_model_name": (
        "a name without control characters that does not begin with '-'",
        _is_served_name,
    ),
}
