# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Prometheus' own tool on the rules, the configuration and the queries of the dashboard."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import _monitoring
from docs import dashboard
from tests.unit.modules import ROOT
from tests.unit.plans import plan
from tests.unit.plugins.module_utils.test_monitoring import SETTINGS

HERE = Path(__file__).parent
RULES = ROOT / "roles/monitoring/files/rules.yml"
METRIC = re.compile(r"\b(?:vllm:|ray_|node_|samewire_)[a-zA-Z0-9_:]+")
# What Grafana puts in place of its variables.
GRAFANA = {"$__rate_interval": "1m"}
# Of vLLM before it was renamed.
FORMER = {"vllm:gpu_cache_usage_perc"}


@pytest.fixture(scope="module")
def promtool() -> str:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip(
            "promtool is not installed; Debian and Ubuntu have it in the package prometheus"
        )
    return program


def said(promtool: str, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [promtool, *arguments], capture_output=True, text=True, check=False, cwd=HERE
    )
    return done.returncode, done.stdout + done.stderr


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return list(group["rules"])


def test_the_rules_are_valid(promtool: str) -> None:
    code, text = said(promtool, "check", "rules", "--lint-fatal", str(RULES))
    assert code == 0, text


def test_the_alerts_fire_when_they_shall(promtool: str) -> None:
    code, text = said(promtool, "test", "rules", "rules_test.yml")
    assert code == 0, text


def test_a_rule_that_is_wrong_is_found(promtool: str, tmp_path: Path) -> None:
    wrong = RULES.read_text(encoding="utf-8").replace(" > 2\n", " > 20\n")
    (tmp_path / "rules.yml").write_text(wrong, encoding="utf-8")
    tests = yaml.safe_load((HERE / "rules_test.yml").read_text(encoding="utf-8"))
    tests["rule_files"] = ["rules.yml"]
    (tmp_path / "rules_test.yml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    code, text = said(promtool, "test", "rules", str(tmp_path / "rules_test.yml"))
    assert code != 0
    assert "SamewireRestarts" in text


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"api_tls": True, "tls_name": "api.example.org"},
        {"executor": "mp", "api_key": False},
        {"alertmanagers": ["10.1.2.3:9093", "[fd00::1]:9093"]},
    ],
)
@pytest.mark.parametrize("family", [4, 6])
def test_the_configuration_is_valid(
    promtool: str,
    changes: dict[str, Any],
    family: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_monitoring, "FOLDER", str(tmp_path))
    wanted = {**SETTINGS, "targets": str(tmp_path / "ray.json")}
    folder = tmp_path / "pair"
    folder.mkdir()
    (folder / "api_key").write_text("c0ffee\n")
    (folder / "api.crt").write_text("")
    shutil.copy(RULES, folder / "rules.yml")
    config = _monitoring.prometheus_config(
        plan(family=family), _monitoring.Wanted(**{**wanted, **changes})
    )
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    code, text = said(promtool, "check", "config", str(folder / "prometheus.yml"))
    assert code == 0, text


def test_the_queries_of_the_dashboard_parse(promtool: str, tmp_path: Path) -> None:
    queries = [
        {"record": f"query:{number}", "expr": _sent(query)}
        for number, query in enumerate(dashboard.expressions().values())
    ]
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": queries}]}))
    code, text = said(promtool, "check", "rules", str(file))
    assert code == 0, text


def _sent(query: str) -> str:
    for variable, value in GRAFANA.items():
        query = query.replace(variable, value)
    return query


def test_the_dashboard_is_what_the_code_says() -> None:
    written = dashboard.DASHBOARD.read_text(encoding="utf-8")
    assert written == dashboard.render(), "run: python docs/dashboard.py"


def known() -> set[str]:
    """Return the names that were recorded of each program, and our own."""
    recorded = {
        line
        for file in (HERE / "metrics").glob("*.txt")
        for line in file.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    }
    collector = (ROOT / "roles/monitoring/files/collect.py").read_text(encoding="utf-8")
    return recorded | set(re.findall(r'"(samewire_\w+)":', collector))


def test_every_metric_of_the_dashboard_and_the_rules_exists() -> None:
    queries = [*dashboard.expressions().values(), *(rule["expr"] for rule in rules())]
    used = {name for query in queries for name in METRIC.findall(query)}
    assert len(used) > 20
    assert used - known() - FORMER == set()


def test_every_alert_is_tested_and_says_where_and_what_to_do() -> None:
    tests = (HERE / "rules_test.yml").read_text(encoding="utf-8")
    for rule in rules():
        assert f"alertname: {rule['alert']}" in tests
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert "$labels.host" in rule["annotations"]["description"]
        assert re.search(r"samewire \w+", rule["annotations"]["description"])
