# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Two hosts on one machine, each with a Docker Engine, on two networks of which one joins them."""
