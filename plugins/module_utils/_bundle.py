# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a host hands over for a diagnosis, and the sentences that end a failed run."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _diagnosis, _signatures

# Of a file only its end is taken: what ended a program stands there.
LONGEST = 20_000_000
CUT = "samewire: the beginning is left out\n"

# Logs of Ray that say what its processes met. gcs_server.out is none: it keeps the deaths of replaced nodes.
_RAY_LOGS = re.compile(
    r"^(worker-.*\.(?:err|out)|raylet\.(?:err|out|log)|gcs_server\.err|monitor\.err)$"
)
_SAFE = re.compile(r"^[\w.-]+(?:/[\w.-]+)*$")
_SHOWN = 15
_LONGEST_MESSAGE = 30
_DOUBTFUL = _signatures.CONFIDENCE[_signatures.HINT]
# A symptom may be of another failure, as of a node that the deployment itself replaced.
_CAUSES = frozenset(rule.id for rule in _diagnosis.RULES if rule.role == _signatures.CAUSE)


class BundleRefused(Exception):
    """What a host handed over is not what its module packs."""


def is_ray_log(name: str) -> bool:
    """Return whether a file of Ray's folder of logs is taken."""
    return _RAY_LOGS.match(name) is not None


def tail(text: str, longest: int = LONGEST) -> str:
    """Return the text, or its last whole lines where it is longer."""
    return text if len(text) <= longest else CUT + text[-longest:].partition("\n")[2]


def pack(files: Mapping[str, str]) -> str:
    """Return texts by name as one string of ASCII."""
    return base64.b64encode(zlib.compress(json.dumps(files).encode())).decode()


def unpack(packed: str) -> dict[str, str]:
    """Return what `pack` packed; raise BundleRefused where a name would leave its folder."""
    try:
        files = json.loads(zlib.decompress(base64.b64decode(packed)))
    except ValueError as error:
        raise BundleRefused(f"it is damaged ({error})") from error
    except zlib.error as error:
        raise BundleRefused(f"it is damaged ({error})") from error
    for name in files:
        if not _SAFE.match(name) or ".." in name.split("/"):
            raise BundleRefused(f"{name!r} is no name of a file in it")
    return dict(files)


def report(
    findings: Sequence[Mapping[str, Any]],
    failures: Iterable[Mapping[str, str]],
    where: str,
    logs: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return what ends a failed run, the cause first.

    findings: as `samewire.diagnosis/1` has them; failures: host, task and message of what failed; where: the
    bundle; logs: the lines of each host's containers, by file, shown where no cause is known.
    """
    failed = [_failed(each) for each in failures]
    lines = []
    if findings and (_is_sure(findings[0]) or not failed):
        lines += told(findings[0])
        lines += [f"What failed: {each[0]}" for each in failed]
    else:
        lines += [line for each in failed for line in each]
        if findings:
            doubtful = f"{findings[0]['cause']} ({findings[0]['id']})"
            # What failed may have named it itself.
            if not any(doubtful in line for line in lines):
                lines += [f"Perhaps: {doubtful}", f"Remedy: {findings[0]['remedy']}"]
        else:
            lines.append("No known fault in the logs.")
        # A failure of several lines shows the log that it comes from.
        if failed and not any(len(each) > 1 for each in failed):
            lines += _ends(logs)
    lines.append(f"All logs are in {where} and {where}.tar.gz; samewire diagnose reads them.")
    return lines


def _is_sure(finding: Mapping[str, Any]) -> bool:
    return finding["confidence"] != _DOUBTFUL and finding["id"] in _CAUSES


def told(finding: Mapping[str, Any]) -> list[str]:
    """Return a finding as lines: cause with its host, evidence, remedy, variable."""
    evidence = list(finding["evidence"])
    host = _host(evidence[0]) if evidence else ""
    lines = [f"{host + ': ' if host else ''}{finding['cause']} ({finding['id']})"]
    lines += [f"Evidence: {each['file']}:{each['line']}: {each['text']}" for each in evidence[:2]]
    lines.append(f"Remedy: {finding['remedy']}")
    if finding["variable"]:
        lines.append(f"Variable: {finding['variable']}")
    return lines


def _host(evidence: Mapping[str, Any]) -> str:
    """Return the host whose folder holds the file, with the one that the line itself names."""
    folder = str(evidence["file"]).partition("/")[0] if "/" in str(evidence["file"]) else ""
    said = evidence["host"] or ""
    return f"{folder} ({said})" if folder and said and said != folder else folder or said


def _failed(failure: Mapping[str, str]) -> list[str]:
    said = [line.rstrip() for line in failure["message"].splitlines() if line.strip()] or ["failed"]
    # The sentences of the collection begin with the host that they are about.
    if not re.match(r"[\w.-]+: ", said[0]):
        said[0] = f"{failure['host']}: {failure['task']}: {said[0]}"
    return said[:_LONGEST_MESSAGE]


def _ends(logs: Mapping[str, Sequence[str]]) -> list[str]:
    lines = []
    for file, said in sorted(logs.items()):
        lines.append(f"The last lines of {file}:")
        lines += [f"  {line}" for line in said[-_SHOWN:]]
    return lines
