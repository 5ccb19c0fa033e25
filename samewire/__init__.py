# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The driver of the Ansible collection samewire.vllm: it runs, shows and exits with codes."""
