# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The questions of init: what the command line does not say, asked until the answer can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import typer

from samewire.init import Answers, Member, member_problem, problems

# Stands for what is not asked yet, while one answer is judged by itself.
_ANY = Answers("any", Member("any"), (), "any", "any")


@dataclass(frozen=True)
class Given:
    """What the command line says; None where it says nothing."""

    name: str | None
    head: str | None
    workers: tuple[str, ...]
    user: str | None
    image: str | None
    model: str | None
    network: str | None

    def answers(self, name: str) -> Answers:
        """Return the answers; name: of the cluster where none is given."""
        return Answers(
            name=name if self.name is None else self.name,
            head=Member.parse(self.head or ""),
            workers=tuple(map(Member.parse, self.workers)),
            image=self.image or "",
            model=self.model or "",
            user=self.user or "",
            network=self.network or "",
        )


def ask(given: Given, name: str) -> Answers:
    """Ask for what is not given; name: what the cluster is called without another answer.

    Raises:
        typer.Abort: The person has had enough.
    """
    if given.head is None:
        head = _ask("Head, as HOST or HOST=ADDRESS", _host)
        workers = _workers() if not given.workers else given.workers
        given = replace(given, head=head, workers=tuple(workers))
    if given.user is None:
        user = _ask("Account on the hosts (empty: as ssh has it)", _user, default="")
        given = replace(given, user=user)
    if given.name is None:
        default = None if problems(replace(_ANY, name=name)) else name
        given = replace(given, name=_ask("Name of the cluster", _name, default=default))
    if given.image is None:
        given = replace(given, image=_ask("Image with vLLM, as registry/name:tag", _image))
    if given.model is None:
        given = replace(given, model=_ask("Model, a hub id or a path on a host", _model))
    return given.answers(name)


def _workers() -> list[str]:
    found: list[str] = []
    while more := _ask("Worker, as HOST or HOST=ADDRESS (empty: no more)", _host, default=""):
        found.append(more)
    return found


def _ask(question: str, problem: Callable[[str], str | None], default: str | None = None) -> str:
    def judged(text: str) -> str:
        text = text.strip()
        if text != default and (said := problem(text)):
            raise typer.BadParameter(said)
        return text

    shows = bool(default)
    return str(typer.prompt(question, default=default, value_proc=judged, show_default=shows))


def _host(text: str) -> str | None:
    return member_problem(Member.parse(text))


def _first(answers: Answers) -> str | None:
    return next(iter(problems(answers)), None)


def _user(text: str) -> str | None:
    return _first(replace(_ANY, user=text))


def _name(text: str) -> str | None:
    return _first(replace(_ANY, name=text))


def _image(text: str) -> str | None:
    return _first(replace(_ANY, image=text))


def _model(text: str) -> str | None:
    return _first(replace(_ANY, model=text))
