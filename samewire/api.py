# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The API of a deployment: its URL, key and certificate, and one sentence where it does not answer."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from samewire import locate, record
from samewire.inventory import cluster_name

TIMEOUT_S = 120


class ApiError(RuntimeError):
    """No answer; the message is one sentence."""


class _Pinned(HTTPAdapter):
    """Trusts a certificate by itself, also one that somebody issued whose own is not beside it."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        super().init_poolmanager(*args, ssl_context=context, **kwargs)


@dataclass(frozen=True)
class Api:
    """The API of a deployment, with its connections, for one thread.

    certificate: the file of the one certificate to trust; None trusts what the system trusts.
    """

    deployed: record.Record
    key: str | None = None
    certificate: Path | None = None
    _session: requests.Session = field(default_factory=requests.Session, repr=False)

    def __post_init__(self) -> None:
        if self.certificate:
            self._session.mount("https://", _Pinned())

    def post(
        self, url: str, body: Mapping[str, Any], *, stream: bool = False, timeout: float = TIMEOUT_S
    ) -> requests.Response:
        """Return the answer to a request; with stream, its content is still to be read.

        Raises:
            ApiError: The deployment does not answer, or answers with an error.
        """
        return self._answer("POST", url, body, stream=stream, timeout=timeout)

    def model_path(self) -> str:
        """Return what the server was started with: a path, or a hub id.

        Raises:
            ApiError: As `post` does, or what answers is no vLLM.
        """
        url = f"{self.deployed.url}/v1/models"
        try:
            return str(self._answer("GET", url).json()["data"][0]["root"])
        except (ValueError, KeyError, IndexError, TypeError):
            raise ApiError(
                f"{self.deployed.cluster} names no model: expected a list of models from {url}, got "
                "something else; see who answers there."
            ) from None

    def _answer(
        self,
        verb: str,
        url: str,
        body: Mapping[str, Any] | None = None,
        *,
        stream: bool = False,
        timeout: float = TIMEOUT_S,
    ) -> requests.Response:
        try:
            response = self._session.request(
                verb,
                url,
                json=body,
                headers={"Authorization": f"Bearer {self.key}"} if self.key else {},
                timeout=timeout,
                stream=stream,
                verify=str(self.certificate) if self.certificate else True,
            )
            refusal = "" if response.ok else response.text.strip()
        except requests.exceptions.SSLError as error:
            certificate = self.certificate
            expected = (
                f"the certificate in {certificate}" if certificate else "one the system trusts"
            )
            raise ApiError(
                f"{self.deployed.cluster} cannot be trusted: expected {expected} from {url}, got another "
                f"({_reason(error)}); deploy it again from here, or see who answers there."
            ) from None
        except requests.RequestException as error:
            raise ApiError(
                f"{self.deployed.cluster} does not answer: expected a server at {url}, got "
                f"{type(error).__name__}; deploy it again, or look at the logs of its containers."
            ) from None
        if not response.ok:
            raise ApiError(
                f"{self.deployed.cluster} refused the question: expected status 200 from {url}, got "
                f"{response.status_code}: {refusal}"
            )
        return response


def of(inventory: Path, key: str | None) -> Api:
    """Return the API that was deployed from an inventory; key: None for that of the deployment.

    Raises:
        InventoryError: The inventory describes no cluster.
        RecordError: It was not deployed from here.
    """
    return of_cluster(cluster_name(inventory, locate.collection()), key)


def of_cluster(cluster: str, key: str | None) -> Api:
    """Return the API of a cluster; key: None for that of the deployment.

    Raises:
        RecordError: It was not deployed from here.
    """
    folder = locate.cluster_folder(cluster)
    deployed = record.load(folder)
    file = record.key_file(folder)
    own = file.read_text(encoding="utf-8") if file and key is None else key
    return Api(deployed, own, record.certificate_file(folder))


def _reason(error: requests.exceptions.SSLError) -> str:
    """Return what OpenSSL said, without what each layer above it has put around."""
    said = re.search(r"verify failed: (?P<reason>.*?)\.? \(_ssl", str(error))
    return said["reason"] if said else type(error).__name__
