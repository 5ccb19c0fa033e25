# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb bench of the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from samewire import api, bench, locate, vllm_bench
from samewire import inventory as inventories
from samewire.connection import ConnectionProblem, connection
from samewire.exit_codes import MEANING, ExitCode
from samewire.inventory import InventoryError
from samewire.options import ApiKeyOption, InventoryOption, JsonOption, located, refuse
from samewire.record import RecordError
from samewire.view import is_lively, make_console

SAID = {
    **MEANING,
    ExitCode.DONE: "measured",
    ExitCode.FAILED: "not one token came",
    ExitCode.REFUSED: "refused before anything was asked",
}
# There is no host to be reached, only the API.
HELP = (
    "Exit status: "
    + "; ".join(
        f"{code:d} {text}" for code, text in SAID.items() if code is not ExitCode.UNREACHABLE
    )
    + "."
)
LONGEST_REASON = 300
SECONDS, REQUESTS = 10.0, 100


def measure(
    inventory: InventoryOption,
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- ARGUMENT", help="With --vllm: arguments of its own."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=1, max=3600, help="How long to measure, 10 unless said."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, max=512, help="Requests at a time.")
    ] = 4,
    tokens: Annotated[
        int, typer.Option("--tokens", min=1, max=100_000, help="Tokens of each answer.")
    ] = 128,
    vllm: Annotated[
        bool, typer.Option("--vllm", help="Take vLLM's own benchmark, in the image, on the head.")
    ] = False,
    requests: Annotated[
        int | None,
        typer.Option("--requests", min=1, help="With --vllm: how many, 100 unless said."),
    ] = None,
    as_json: JsonOption = False,
    api_key: ApiKeyOption = None,
) -> None:
    """Measure a deployed model for some seconds.

    Told are tokens per second, and how soon they come. It asks for short streamed completions, which add to
    the load of the cluster. The full benchmark, with data sets and rates of requests, is vLLM's own: vllm
    bench serve, in the image, which --vllm takes.

    Example: samewire bench -i inventories/mine

    Example: samewire bench -i inventories/mine --seconds 60 --concurrency 32 --json

    Example: samewire bench -i inventories/mine --vllm --requests 500 -- --request-rate 8
    """
    _agreed(vllm, more, seconds, requests)
    if vllm:
        size = vllm_bench.Size(requests or REQUESTS, concurrency, tokens)
        _take_vllms(located(inventory), api_key, size, more or [], as_json=as_json)
        return
    try:
        deployed = api.of(located(inventory), api_key)
    except (InventoryError, RecordError) as error:
        refuse(error)
    load = bench.Load(seconds or SECONDS, concurrency, tokens)
    try:
        bench.check(deployed)
        with _waiting(f"{concurrency} requests at a time for {load.seconds:g} s"):
            result = bench.run(
                lambda: api.Api(deployed.deployed, deployed.key, deployed.certificate), load
            )
    except api.ApiError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(ExitCode.FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    if as_json:
        said = {
            "schema": bench.SCHEMA,
            "cluster": deployed.deployed.cluster,
            "url": deployed.deployed.endpoints["completions"],
            "model": deployed.deployed.model,
            "load": asdict(load),
            **result.to_json(),
        }
        typer.echo(json.dumps(said, indent=2))
    else:
        typer.echo("\n".join(_report(deployed, load, result)))
    if not result.tokens:
        typer.echo(_nothing(deployed, load, result), err=True)
        raise typer.Exit(ExitCode.FAILED)


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("bench", epilog=HELP)(measure)


def _agreed(
    vllm: bool, more: Sequence[str] | None, seconds: float | None, requests: int | None
) -> None:
    """Refuse options of one benchmark for the other."""
    if vllm and seconds is not None:
        raise typer.BadParameter(
            "expected --requests with --vllm, whose length is a number of requests, got --seconds",
            param_hint="'--seconds'",
        )
    for name, given in (("--requests", requests), ("ARGUMENT", more)):
        if given and not vllm:
            raise typer.BadParameter("expected --vllm with it", param_hint=f"'{name}'")


def _take_vllms(
    inventory: Path,
    key: str | None,
    size: vllm_bench.Size,
    more: Sequence[str],
    *,
    as_json: bool,
) -> None:
    folder = locate.collection()
    try:
        found = inventories.read(inventory, folder, {})
        # The head comes first.
        head = connection(*next(iter(found.hosts.items())))
        deployed = api.of_cluster(found.cluster, key)
    except (InventoryError, RecordError, ConnectionProblem) as error:
        refuse(error)
    known = deployed.deployed
    try:
        given = vllm_bench.arguments(known.url, known.model, deployed.model_path(), size)
        with _waiting(f"vLLM's benchmark on {head.host}: {size.requests} requests"):
            report, result = vllm_bench.run(head, found.cluster, [*given, *more], folder)
    except (api.ApiError, vllm_bench.BenchmarkProblem) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(ExitCode.FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    typer.echo(json.dumps(result, indent=2) if as_json else report)
    if not result.get("completed"):
        raise typer.Exit(ExitCode.FAILED)


@contextmanager
def _waiting(what: str) -> Iterator[None]:
    """Show on a terminal that something goes on."""
    console = make_console(stderr=True)
    if not is_lively(console):
        yield
        return
    with console.status(what):
        yield


def _report(deployed: api.Api, load: bench.Load, result: bench.Result) -> Iterator[str]:
    made = deployed.deployed
    yield (
        f"{made.cluster}: {made.model} at {made.url}, {load.concurrency} requests at a time for "
        f"{load.seconds:g} s"
    )
    rows = [
        ("Requests", f"{result.done} done, {result.failed} failed, {result.cut} cut at the end"),
        ("Output", f"{result.tokens_per_second:.1f} tokens/s ({result.tokens} tokens)"),
        ("Time to first token", _spread(result.first_token)),
        ("Inter-token latency", _spread(result.between_tokens)),
        *(("Failed", f"{count} x {_short(reason)}") for reason, count in result.failures),
    ]
    yield from (f"{name:<21}{value}" for name, value in rows)


def _nothing(deployed: api.Api, load: bench.Load, result: bench.Result) -> str:
    if result.failed:
        reason, _ = result.failures[0]
        return f"All {result.failed} requests failed: {_short(reason)}"
    return (
        f"{deployed.deployed.cluster} gave no token: expected one within {load.seconds:g} s, got none; raise "
        "--seconds, or look at samewire status."
    )


def _spread(times: bench.Spread) -> str:
    if times.median is None or times.p95 is None:
        return "-"
    return f"median {times.median * 1000:.1f} ms, p95 {times.p95 * 1000:.1f} ms"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}..."
