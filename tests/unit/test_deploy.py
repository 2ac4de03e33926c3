"""The deployment files: they parse, they are safe by default, and every name in them exists."""

import configparser
import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from qwed.cli.serve import serve
from qwed.http.metrics import Metrics
from qwed.http.openapi import OPERATIONS
from qwed.http.shedding import Gate
from qwed.settings import SETTINGS

DEPLOY = Path(__file__).parents[2] / "deploy"
OPTIONS = {option for parameter in serve.params for option in parameter.opts}
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def documents(path):
    return [document for document in YAML(typ="safe", pure=True).load_all(path.read_text()) if document]


def all_objects():
    return [document for path in MANIFESTS for document in documents(path)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_and_option_in_a_file_exists(path):
    text = path.read_text()
    known = {setting.variable for setting in SETTINGS}

    assert set(re.findall(r"\bQWED_[A-Z_]+\b", text)) <= known
    if path.suffix in (".yaml", ".service") or path.name == "Dockerfile":
        given = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
        foreign = {
            "--no-cache-dir",
            "--from",
            "--system",
            "--uid",
            "--create-home",
            "--home-dir",
            "--interval",
        }
        foreign |= {
            "--timeout",
            "--start-period",
            "--save",
            "--appendonly",
            "--maxmemory",
            "--maxmemory-policy",
        }
        foreign |= {"--from-file"}
        assert given - foreign <= OPTIONS


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_is_made_of_named_objects(path):
    for document in documents(path):
        assert {"apiVersion", "kind", "metadata"} <= set(document)
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", document["metadata"]["name"])


def the_pod():
    (deployment,) = [each for each in all_objects() if each["kind"] == "Deployment"]
    return deployment, deployment["spec"]["template"]["spec"]


def test_the_pod_has_no_more_rights_than_it_needs():
    _, pod = the_pod()
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "memory" in container["resources"]["limits"]


def test_the_pod_is_asked_where_the_gateway_answers_and_is_given_time_to_stop():
    deployment, pod = the_pod()
    (container,) = pod["containers"]
    paths = {operation.path for operation in OPERATIONS}

    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["path"] in paths
    # Whether it is alive must not depend on a database that is away.
    assert container["livenessProbe"]["httpGet"]["path"] == "/health"
    assert container["readinessProbe"]["httpGet"]["path"] == "/ready"
    assert pod["terminationGracePeriodSeconds"] > 25
    assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_labels_secrets_and_configuration_fit_together():
    deployment, pod = the_pod()
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    for each in all_objects():
        if each["kind"] == "Service":
            assert each["spec"]["selector"].items() <= labels.items()
    names = {(each["kind"], each["metadata"]["name"]) for each in all_objects()}
    (container,) = pod["containers"]
    for source in container["envFrom"]:
        assert ("Secret", source["secretRef"]["name"]) in names
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_compose_starts_the_gateway_after_what_it_needs():
    (compose,) = documents(DEPLOY / "compose.yaml")
    gateway = compose["services"]["qwed"]

    assert set(gateway["depends_on"]) == {"postgres", "redis"}
    assert all("healthcheck" in compose["services"][name] for name in ("postgres", "redis"))
    assert all(port.startswith("127.0.0.1:") for port in gateway["ports"])
    # Without persistence, and never dropping a count to make room for another.
    assert "noeviction" in compose["services"]["redis"]["command"]


def test_the_image_does_not_run_as_root():
    text = (DEPLOY / "Dockerfile").read_text()
    last = text.rsplit("\nFROM ", 1)[1]
    assert re.search(r"^USER 1\d{4}$", last, re.MULTILINE)
    assert "HEALTHCHECK" in last and "STOPSIGNAL SIGTERM" in last


def test_the_unit_reloads_by_replacing_workers():
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read_string((DEPLOY / "systemd" / "qwed.service").read_text())
    service = unit["Service"]

    assert service["ExecReload"].endswith("-HUP $MAINPID")
    assert int(service["TimeoutStopSec"]) > 25
    assert service["User"] != "root" and service["NoNewPrivileges"] == "yes"


def test_the_dashboard_asks_for_metrics_that_exist():
    dashboard = json.loads((DEPLOY / "grafana" / "qwed.json").read_text())
    metrics = Metrics("1", "p")
    metrics.watch(Gate())
    metrics.decision("APPROVED", "")
    metrics.request("/x", 200, 0.1)
    there = set(re.findall(r"^(qwed_\w+)", metrics.text().decode(), re.MULTILINE))
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\bqwed_\w+", target["expr"])
    }

    assert asked and asked <= there
    routes = {operation.path for operation in OPERATIONS}
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            assert set(re.findall(r'route="([^"]+)"', target["expr"])) <= routes
