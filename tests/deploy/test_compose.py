"""docker-compose.yml: right by the Compose specification, and what the image needs."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.service.conftest import running

from gradwire_service.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
OURS = ["gradwire", "gradwire-cuda"]

Service = dict[str, Any]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return loaded


def against_schema(path: Path) -> "subprocess.CompletedProcess[str]":
    """Check a file against the Compose specification's schema, which check-jsonschema carries."""
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    return subprocess.run([*check, path], capture_output=True, text=True)


def test_it_follows_the_specification() -> None:
    done = against_schema(COMPOSE)
    assert done.returncode == 0, done.stdout


def test_the_schema_would_find_a_mistake(tmp_path: Path) -> None:
    broken = tmp_path / "docker-compose.yml"
    broken.write_text(COMPOSE.read_text().replace("read_only: true", "read_only: [1]"))
    assert against_schema(broken).returncode == 1


@pytest.mark.parametrize("name", OURS)
def test_a_service_is_bounded_and_locked_down(compose: dict[str, Any], name: str) -> None:
    service: Service = compose["services"][name]
    limits = service["deploy"]["resources"]["limits"]
    assert set(limits) >= {"cpus", "memory", "pids"}
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert [t.partition(":")[0] for t in service["tmpfs"]] == ["/tmp"]


def test_every_service_is_published_on_this_machine_only(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_volumes_are_named_and_declared(compose: dict[str, Any]) -> None:
    sources = [v.partition(":")[0] for s in compose["services"].values() for v in s["volumes"]]
    assert len(sources) == len(set(sources))
    assert set(sources) == set(compose["volumes"])


@pytest.mark.parametrize("name", OURS)
def test_the_health_check_is_the_images(compose: dict[str, Any], name: str) -> None:
    text = (ROOT / "Dockerfile").read_text()
    found = re.search(r"HEALTHCHECK (?P<options>[^[]*?)CMD (?P<command>\[.*?\])", text)
    assert found
    check = compose["services"][name]["healthcheck"]
    assert check["test"] == ["CMD", *json.loads(found["command"])]
    options = dict(re.findall(r"--([\w-]+)=(\S+)", found["options"]))
    assert options == {k.replace("_", "-"): str(v) for k, v in check.items() if k != "test"}


def interpolated(text: str, given: dict[str, str]) -> str:
    """What Compose makes of a value: ${NAME:-other}, ${NAME-other} and ${NAME:+instead}, $NAME."""

    def one(found: re.Match[str]) -> str:
        name, how, other = found["name"] or found["bare"], found["how"] or "", found["other"] or ""
        value = given.get(name, "")
        if how == ":+":
            return interpolated(other, given) if value else ""
        left_out = not value if how == ":-" else name not in given
        return interpolated(other, given) if left_out else value

    pattern = r"\$(?:\{(?P<name>\w+)(?:(?P<how>:-|:\+|-)(?P<other>[^}]*))?\}|(?P<bare>\w+))"
    return re.sub(pattern, one, text)


KEYS = {"GRADWIRE_KEYS": "alice:" + "a" * 24, "GRADWIRE_OPERATOR_KEY": "o" * 24}


@pytest.mark.parametrize("given", [{}, KEYS], ids=["open", "with keys"])
def test_prometheus_may_read_the_metrics_of_all(
    compose: dict[str, Any], given: dict[str, str]
) -> None:
    """The key that Prometheus reads is one that the service knows, as the operator's."""
    keys = interpolated(compose["services"]["gradwire"]["environment"]["GRADWIRE_KEYS"], given)
    prometheus = compose["services"]["prometheus"]
    (job,) = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text())["scrape_configs"]
    targets = {config["target"]: config["source"] for config in prometheus["configs"]}
    source = targets[job["authorization"]["credentials_file"]]
    sent = interpolated(compose["configs"][source]["content"], given)
    assert sent
    with running(keys=Settings(keys=keys).keys) as server:
        headers = {"authorization": f"Bearer {sent}"}
        made = {"authorization": f"Bearer {'a' * 24}"}
        assert server.client.post("/v1/sessions", json={}, headers=made).status_code == 201
        reply = server.client.get(job["metrics_path"], headers=headers)
        assert reply.status_code == 200
        assert "gradwire_sessions 1.0" in reply.text
        other = server.client.get(job["metrics_path"], headers={"authorization": "Bearer none"})
        assert other.status_code == (401 if given else 200)


def defaults(variables: dict[str, Any]) -> dict[str, str]:
    """The variables as compose hands them on where the user sets nothing."""
    return {name: interpolated(str(value), {}) for name, value in variables.items()}


@pytest.mark.parametrize("name", OURS)
def test_its_variables_are_settings_and_fit_the_memory_limit(
    compose: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service: Service = compose["services"][name]
    for variable, value in defaults(service["environment"]).items():
        monkeypatch.setenv(variable, value)
        field = variable.removeprefix("GRADWIRE_").lower()
        assert field in Settings.model_fields or variable == "OPENBLAS_NUM_THREADS"
    settings = Settings(host="0.0.0.0")
    settings.check_address()
    assert settings.keys == ()
    memory = defaults(service["deploy"]["resources"]["limits"])["memory"]
    assert settings.server_bytes <= 0.75 * int(memory.removesuffix("g")) * 2**30


@pytest.mark.parametrize("given", [{}, KEYS], ids=["open", "with keys"])
@pytest.mark.parametrize("name", OURS)
def test_it_is_called_by_names_of_loopback_and_of_its_network(
    compose: dict[str, Any], name: str, given: dict[str, str]
) -> None:
    """A browser on the machine reaches the published port; with keys no page gets in."""
    text = compose["services"][name]["environment"]["GRADWIRE_ALLOWED_HOSTS"]
    keys = given.get("GRADWIRE_KEYS", "")
    settings = Settings(host="0.0.0.0", keys=keys, allowed_hosts=interpolated(text, given))
    assert settings.hosts == (None if given else tuple(OURS))
    more = interpolated(text, {"GRADWIRE_ALLOWED_HOSTS": "gpu.lab"})
    hosts = Settings(host="0.0.0.0", allowed_hosts=more).hosts
    assert hosts == (*OURS, "gpu.lab")
    with running(hosts=hosts) as server:
        for host, status in ((f"{name}:8000", 200), ("gpu.lab", 200), ("evil.example", 403)):
            assert server.client.get("/metrics", headers={"host": host}).status_code == status


def test_profiles(compose: dict[str, Any]) -> None:
    profiles = {name: s.get("profiles", []) for name, s in compose["services"].items()}
    assert profiles == {"gradwire": [], "gradwire-cuda": ["cuda"], "prometheus": ["monitoring"]}


def test_prometheus_scrapes_services_that_exist(compose: dict[str, Any]) -> None:
    path = ROOT / compose["configs"]["prometheus"]["file"]
    (job,) = yaml.safe_load(path.read_text())["scrape_configs"]
    targets = [target for group in job["static_configs"] for target in group["targets"]]
    assert targets == [f"{name}:8000" for name in OURS]
    assert job["metrics_path"] == "/metrics"
    for name in OURS:
        assert compose["services"][name]["ports"][0].endswith(":8000")
