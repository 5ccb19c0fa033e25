#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: what the hub says of a model; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hub_info
short_description: Read what the hub says of a model, a few kB
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Asks for the list of the files of a model and for its C(config.json), of which it keeps what says how
    large the model is.
  - A hub that refuses or is not reached is a result, no failure.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  endpoint:
    description: URL of the hub.
    type: str
    required: true
  model:
    description: The model's id.
    type: str
    required: true
  revision:
    description: Branch, tag or commit.
    type: str
    default: main
  token:
    description: Token for gated models; empty sends none.
    type: str
    default: ""
  timeout:
    description: Seconds without an answer after which the hub counts as not reached.
    type: int
    default: 10
"""

EXAMPLES = r"""
- name: Ask for a model
  samewire.vllm.hub_info:
    endpoint: https://huggingface.co
    model: org/model
  register: answer
"""

RETURN = r"""
hub:
  description: What the hub says; C(status) is -1 where it was not reached.
  returned: always
  type: dict
  sample:
    status: 200
    reason: ""
    code: ""
    commit: 5f2c…
    files: {config.json: {size: 812}, model.safetensors: {size: 4987654321}}
    config: {architectures: [LlamaForCausalLM], num_hidden_layers: 32, hidden_size: 4096}
"""

import http.client
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote, urljoin

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _hub, _model

_REDIRECTS = (301, 302, 303, 307, 308)
# What is longer is no list of files, and no config.json.
_LONGEST = 32 << 20


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, since another host must not get the token."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _get(given: dict[str, Any], path: str) -> tuple[int, str, str, Any]:
    """Return status, message, the hub's code, and the document, None where it is none."""
    base = given["endpoint"].rstrip("/")
    url, opener = f"{base}/{path}", urllib.request.build_opener(_Stay)
    for _unused in range(3):
        if not url.startswith(("http://", "https://")):
            return -1, f"{url} is no address of HTTP", "", None
        request = urllib.request.Request(url, headers={"User-Agent": "samewire"})  # noqa: S310
        if given["token"] and url.startswith(f"{base}/"):
            request.add_header("Authorization", f"Bearer {given['token']}")
        try:
            with opener.open(request, timeout=given["timeout"]) as response:
                return response.status, "", "", json.loads(response.read(_LONGEST))
        except urllib.error.HTTPError as error:
            headers = error.headers
            if error.code not in _REDIRECTS:
                reason = headers.get("X-Error-Message") or error.reason
                return error.code, reason, headers.get("X-Error-Code", ""), None
            url = urljoin(url, headers.get("Location", ""))
        except (OSError, ValueError, http.client.HTTPException) as error:
            return -1, str(getattr(error, "reason", error)) or type(error).__name__, "", None
    return -1, f"it is redirected without an end, last to {url}", "", None


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "endpoint": {"type": "str", "required": True},
            "model": {"type": "str", "required": True},
            "revision": {"type": "str", "default": "main"},
            "token": {"type": "str", "default": "", "no_log": True},
            "timeout": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    given = module.params
    model, revision = given["model"], quote(given["revision"], safe="")
    hub = _hub.answer(*_get(given, f"api/models/{model}/revision/{revision}?blobs=true"))
    if "config.json" in hub["files"]:
        status, reason, code, config = _get(given, f"{model}/resolve/{revision}/config.json")
        if code == "GatedRepo":
            hub.update(status=status, reason=reason, code=code)
        elif isinstance(config, dict):
            hub["config"] = _model.facts(config)
    module.exit_json(changed=False, hub=hub)


if __name__ == "__main__":
    main()
