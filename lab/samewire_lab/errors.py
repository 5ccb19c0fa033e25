# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the lab says when it cannot go on."""


class LabError(Exception):
    """One sentence for the reader: what, where, expected and got, cure."""
