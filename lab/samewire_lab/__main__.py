# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m samewire_lab`."""

from samewire_lab.cli import app

app()
