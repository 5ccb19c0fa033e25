# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The filter; the URLs are in the tests of _server_state."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.local_url import local_url


def test_local_url_takes_the_port_as_jinja_gives_it() -> None:
    assert local_url("0.0.0.0", "8000") == "http://127.0.0.1:8000"  # type: ignore[arg-type]
    assert local_url("0.0.0.0", 8000, tls=True) == "https://127.0.0.1:8000"
