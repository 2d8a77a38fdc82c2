"""Grafana's dashboard and the alerts ask for what the server has; the dashboard shows all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.service.conftest import running

from gradwire_engine.errors import CODES

ROOT = Path(__file__).parents[2]
BOARD = ROOT / "deploy/grafana.json"
_METRIC = re.compile(r"\bgradwire_\w+")
_SELECTED = re.compile(r'(\w+)=~?"')
_GROUPED = re.compile(r"\bby \(([^)]*)\)")
_OF_PROMETHEUS = {"instance", "job"}


@pytest.fixture(scope="module")
def samples() -> dict[str, set[str]]:
    """The labels of each metric that a server has answered with."""
    with running() as server:
        server.session().steps({"tensor": "x", "value": 1.0})
        families = text_string_to_metric_families(server.client.get("/metrics").text)
        found: dict[str, set[str]] = {}
        for family in families:
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
        return found


def queries() -> Iterator[str]:
    board: dict[str, Any] = json.loads(BOARD.read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield target["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]


def test_each_metric_and_label_that_it_names_exists(samples: dict[str, set[str]]) -> None:
    for query in queries():
        names = _METRIC.findall(query)
        assert names and set(names) <= samples.keys(), query
        labels = {label for group in _GROUPED.findall(query) for label in group.split(", ")}
        labels |= set(_SELECTED.findall(query))
        for name in names:
            assert labels <= samples[name] | _OF_PROMETHEUS, query


def test_each_metric_is_on_it(samples: dict[str, set[str]]) -> None:
    shown = {name for query in queries() for name in _METRIC.findall(query)}
    assert samples.keys() <= shown


def test_its_brackets_match_and_its_panels_differ() -> None:
    for query in queries():
        for one, other in ("()", "[]", "{}"):
            assert query.count(one) == query.count(other), query
    panels = json.loads(BOARD.read_text())["panels"]
    assert (
        len({panel["id"] for panel in panels}) == len({p["title"] for p in panels}) == len(panels)
    )


def alerts() -> dict[str, str]:
    """Each alert's expression by its name."""
    (group,) = yaml.safe_load((ROOT / "deploy/alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def test_each_alert_asks_for_metrics_labels_and_codes_that_exist(
    samples: dict[str, set[str]],
) -> None:
    for query in alerts().values():
        labels = set(_SELECTED.findall(query))
        for name in _METRIC.findall(query):
            assert name in samples, query
            assert labels <= samples[name] | _OF_PROMETHEUS, query
        for wanted in re.findall(r'code=~?"([^"]*)"', query):
            for pattern in wanted.split("|"):
                assert any(re.fullmatch(pattern, code) for code in CODES), query


def test_each_alert_is_explained() -> None:
    page = (ROOT / "docs/operations.md").read_text()
    assert set(re.findall(r"^\| `(Gradwire\w+)` \|", page, re.MULTILINE)) == alerts().keys()


def test_panels_that_the_page_names_exist() -> None:
    page = (ROOT / "docs/operations.md").read_text()
    section = page.partition("## To watch it")[2].partition("\n## ")[0]
    titles = {panel["title"] for panel in json.loads(BOARD.read_text())["panels"]}
    named = set(re.findall(r'"([A-Z][^"]*)"', section))
    assert named and named <= titles
