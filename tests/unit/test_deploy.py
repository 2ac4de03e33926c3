"""The deployment files: they parse, they are safe by default, and every name in them exists."""

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.support.server import qwed

from qwed.cli.serve import serve
from qwed.ect.keys import is_private
from qwed.gateway.kernel.integrity import Integrity
from qwed.gateway.kernel.ledger_watch import LedgerWatch
from qwed.http.load_limit import RequestGate
from qwed.http.metrics import Metrics
from qwed.http.openapi import OPERATIONS
from qwed.policy import load_policy
from qwed.settings import SETTINGS, read_settings

DEPLOY = Path(__file__).parents[2] / "deploy"
OPTIONS = {option for parameter in serve.params for option in parameter.opts}
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
EVERYTHING = (
    "autoscaling.enabled=true,ingress.enabled=true,serviceMonitor.enabled=true,image.digest=sha256:12"
)
HELM = Path(sys.executable).parent / "helm"
#: The user and group of the container.
CONTAINER = 10001


def read(text):
    return [document for document in YAML(typ="safe", pure=True).load_all(text) if document]


def documents(path):
    return read(path.read_text())


def all_objects():
    return [document for path in MANIFESTS for document in documents(path)]


def helm(*arguments):
    return subprocess.run([HELM, *arguments], capture_output=True, text=True, cwd=DEPLOY.parent)


def rendered(*values):
    chosen = [word for value in values for word in ("--set", value)]
    done = helm("template", "qwed", "deploy/helm", *chosen)
    assert done.returncode == 0, done.stderr
    return read(done.stdout)


def of_kind(kind, objects):
    (found,) = [each for each in objects if each["kind"] == kind]
    return found


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
        foreign |= {"--from-file", "--out"}
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
    (container,) = pod["containers"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


# --- the chart ---------------------------------------------------------------------------------------------


def test_the_chart_has_no_fault_that_helm_knows():
    done = helm("lint", "--strict", "deploy/helm")

    assert done.returncode == 0, done.stdout


def test_the_plain_manifests_are_what_the_chart_makes_of_its_defaults():
    assert all_objects() == rendered()


def test_the_chart_has_what_a_platform_expects():
    kinds = [each["kind"] for each in rendered(EVERYTHING)]

    assert sorted(kinds) == [
        "ConfigMap",
        "Deployment",
        "HorizontalPodAutoscaler",
        "Ingress",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
        "ServiceMonitor",
    ]


def test_a_digest_wins_over_the_tag():
    (container,) = of_kind("Deployment", rendered(EVERYTHING))["spec"]["template"]["spec"]["containers"]

    assert container["image"] == "qwed@sha256:12"


def test_applying_the_files_again_replaces_no_secret():
    assert "Secret" not in {each["kind"] for each in (*all_objects(), *rendered(EVERYTHING))}


def test_our_own_reader_accepts_the_policy_that_is_mounted():
    policy = of_kind("ConfigMap", all_objects())["data"]["qwed.yaml"]

    assert f"max_steps: {load_policy(policy, 'qwed.yaml').loops.max_steps}" in policy


def test_only_named_peers_reach_the_gateway_and_it_reaches_only_named_ports():
    policy = of_kind("NetworkPolicy", all_objects())["spec"]

    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert all(rule["from"] and all(peer for peer in rule["from"]) for rule in policy["ingress"])
    assert all(rule["ports"] for rule in (*policy["ingress"], *policy["egress"]))


def test_the_gateway_is_told_whose_forwarded_addresses_it_may_believe():
    _, pod = the_pod()
    given = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
    missing = helm("template", "qwed", "deploy/helm", "--set", "proxyAddresses=")

    assert read_settings({**given, "QWED_BEHIND_PROXY": "true"}).proxy_addresses
    assert "proxyAddresses" in missing.stderr and missing.returncode != 0
    for file in ("Dockerfile", "compose.yaml"):
        assert "QWED_PROXY_ADDRESSES" in (DEPLOY / file).read_text()


def test_the_pod_may_read_the_key_as_it_is_mounted():
    _, pod = the_pod()
    (mode,) = [each["secret"]["defaultMode"] for each in pod["volumes"] if "secret" in each]
    # YAML 1.2 reads 0440 as it stands; Kubernetes, as octal.
    mode = int(str(mode), 8) if mode == 440 else mode

    assert pod["securityContext"]["fsGroup"] == CONTAINER
    assert is_private(mode, owner=0, reader=CONTAINER)
    assert not is_private(mode | 0o004, owner=0, reader=CONTAINER)
    assert not is_private(mode, owner=CONTAINER, reader=CONTAINER)


OPEN_AS_THE_POD = f"""
import os, pathlib, sys
from qwed.ect.keys import generate, load_file
generate()  # loads what the other user may not read
os.setgroups([]), os.setgid({CONTAINER}), os.setuid({CONTAINER})
print(load_file(pathlib.Path(sys.argv[1])).algorithm)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hand a file to another user")
def test_a_process_with_the_rights_of_the_pod_opens_the_key():
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        folder.chmod(0o755)
        key = folder / "qwed.key"
        made = qwed("signing-key", "create", "--out", str(key), cwd=folder)
        os.chown(key, 0, CONTAINER)
        key.chmod(0o440)
        opened = subprocess.run([sys.executable, "-c", OPEN_AS_THE_POD, key], capture_output=True, text=True)
    finally:
        shutil.rmtree(folder)

    assert opened.stdout.strip() and opened.stdout.strip() in made.stdout, opened.stderr + made.stderr


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


def existing_metrics():
    metrics = Metrics("1", "p")
    metrics.watch(RequestGate())
    metrics.watch_rows(Integrity())
    metrics.watch_ledger(LedgerWatch())
    metrics.waiting = 1
    metrics.decision("APPROVED", "")
    metrics.request("/x", 200, 0.1)
    return set(re.findall(r"^(qwed_\w+)", metrics.text().decode(), re.MULTILINE))


def questions_of_the_dashboard():
    dashboard = json.loads((DEPLOY / "grafana" / "qwed.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def questions_of_the_alerts():
    (rules,) = documents(DEPLOY / "prometheus" / "qwed-alerts.yaml")
    return [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("questions", [questions_of_the_dashboard, questions_of_the_alerts])
def test_what_grafana_and_the_alerts_ask_for_exists(questions):
    asked = questions()
    names = {name for question in asked for name in re.findall(r"\bqwed_\w+", question)}
    routes = {route for question in asked for route in re.findall(r'route="([^"]+)"', question)}

    assert names and names <= existing_metrics()
    assert routes <= {operation.path for operation in OPERATIONS}
