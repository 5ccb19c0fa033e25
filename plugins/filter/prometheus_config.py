# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a plan to the configuration of the Prometheus that watches its cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
name: prometheus_config
short_description: Render the configuration of a Prometheus that watches a cluster
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - vLLM and the node exporters are asked at their planned addresses, Ray's exporters where the collector
    finds them.
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  wanted:
    description: >-
      C(cluster), C(head), C(watcher), C(executor), C(api_host), C(api_port), C(api_tls), C(api_key),
      C(exporter_port), C(targets), C(tls_name), C(exporter), C(service), C(alertmanagers).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the configuration
  ansible.builtin.debug:
    msg: "{{ plan | samewire.vllm.prometheus_config(wanted) }}"
"""

RETURN = r"""
_value:
  description: The configuration; only C(scrape_configs) where C(service) is false.
  type: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _monitoring


def prometheus_config(plan: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration; see `_monitoring.prometheus_config`."""
    return _monitoring.prometheus_config(plan, _monitoring.Wanted(**wanted))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"prometheus_config": prometheus_config}
