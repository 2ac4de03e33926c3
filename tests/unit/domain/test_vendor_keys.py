"""Vendors' keys are found by what they begin with and by how random the rest is."""

import random
import string

import pytest

from qwed.domain.secrets import find_secrets
from qwed_open_responses import normalise
from qwed_open_responses.scanning import SECRET_SIGNALS, scan

HEX = string.hexdigits[:16]
SMALL = string.ascii_lowercase + string.digits
CAPITAL = string.ascii_uppercase + string.digits
MIXED = string.ascii_letters + string.digits
UUID = "8d1f3a90-52c7-4be1-9a6d-07f4c2e85b13"


def body(alphabet: str, length: int) -> str:
    return "".join(random.Random(length).choices(alphabet, k=length))


KEYS = {
    "adobe_secret": "p8e-" + body(SMALL, 32),
    "airtable_token": f"pat{body(MIXED, 14)}.{body(HEX, 64)}",
    "aiven_token": "AVNS_" + body(MIXED, 24),
    "alibaba_access_key": "LTAI" + body(MIXED, 20),
    "artifactory_key": "AKCp" + body(MIXED, 69),
    "azure_client_secret": f"{body(MIXED, 3)}7Q~{body(MIXED, 34)}",
    "brevo_key": f"xkeysib-{body(HEX, 64)}-{body(MIXED, 16)}",
    "buildkite_token": "bkua_" + body(HEX, 40),
    "circleci_token": "CCIPAT_" + body(MIXED, 50),
    "clickhouse_key": "4b1d" + body(MIXED, 38),
    "clojars_token": "CLOJARS_" + body(SMALL, 60),
    "cloudflare_origin_key": f"v1.0-{body(HEX, 24)}-{body(HEX, 146)}",
    "contentful_token": "CFPAT-" + body(MIXED, 43),
    "defined_networking_key": f"dnkey-{body(MIXED, 26)}-{body(MIXED, 52)}",
    "dropbox_token": "sl." + body(MIXED, 140),
    "duffel_token": "duffel_live_" + body(MIXED, 43),
    "dynatrace_token": f"dt0c01.{body(CAPITAL, 24)}.{body(CAPITAL, 64)}",
    "easypost_key": "EZAK" + body(MIXED, 54),
    "facebook_token": "EAAC" + body(MIXED, 80),
    "figma_token": "figd_" + body(MIXED, 40),
    "fly_token": "fo1_" + body(MIXED, 43),
    "frameio_token": "fio-u-" + body(MIXED, 64),
    "heroku_key": "HRKU-" + body(MIXED, 60),
    "hubspot_token": "pat-na1-" + UUID,
    "infracost_key": "ico-" + body(MIXED, 32),
    "jina_key": "jina_" + body(HEX, 32) + body(MIXED, 28),
    "langchain_key": f"lsv2_pt_{body(HEX, 32)}_{body(HEX, 10)}",
    "mailersend_token": "mlsn." + body(HEX, 64),
    "mapbox_token": f"sk.{body(SMALL, 60)}.{body(SMALL, 22)}",
    "maxmind_key": f"{body(MIXED, 6)}_{body(MIXED, 29)}_mmk",
    "netlify_token": "nfp_" + body(MIXED, 36),
    "newrelic_key": "NRII-" + body(MIXED, 32),
    "nuget_key": "oy2" + body(SMALL, 43),
    "nvidia_key": "nvapi-" + body(MIXED, 64),
    "octopus_key": "API-" + body(CAPITAL, 26),
    "onepassword_key": f"A3-{body(CAPITAL, 6)}-{body(CAPITAL, 11)}-{'-'.join([body(CAPITAL, 5)] * 3)}",
    "onepassword_token": "ops_eyJ" + body(MIXED, 260),
    "openshift_token": "sha256~" + body(MIXED, 43),
    "password_hash": "$6$rounds$" + body(MIXED, 86),
    "perplexity_key": "pplx-" + body(MIXED, 48),
    "pinecone_key": "pcsk_" + body(MIXED, 60),
    "plaid_token": "access-production-" + UUID,
    "planetscale_secret": "pscale_tkn_" + body(MIXED, 43),
    "prefect_key": "pnu_" + body(SMALL, 36),
    "pulumi_token": "pul-" + body(HEX, 40),
    "putty_key": "PuTTY-User-Key-File-2: ssh-rsa",
    "readme_key": "rdme_" + body(SMALL, 70),
    "render_key": "rnd_" + body(MIXED, 28),
    "rubygems_key": "rubygems_" + body(HEX, 48),
    "scalingo_token": "tk-us-" + body(MIXED, 48),
    "shippo_token": "shippo_live_" + body(HEX, 40),
    "sonar_token": "sqp_" + body(HEX, 40),
    "sourcegraph_token": "sgp_" + body(HEX, 40),
    "supabase_token": "sb_secret_" + body(MIXED, 32),
    "tailscale_key": f"tskey-auth-{body(MIXED, 16)}-{body(MIXED, 24)}",
    "tavily_key": "tvly-" + body(MIXED, 32),
    "teams_webhook": f"https://a.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{body(HEX, 32)}",
    "terraform_token": f"{body(MIXED, 14)}.atlasv1.{body(MIXED, 64)}",
    "twitter_bearer": "A" * 21 + body(MIXED, 85),
    "typeform_token": "tfp_" + body(MIXED, 59),
    "xai_key": "xai-" + body(MIXED, 80),
    "yandex_key": "AQVN" + body(MIXED, 37),
    # Keys of letters alone occur: nothing but their cases says that they are random.
    "huggingface_token": "hf_" + body(string.ascii_letters, 34),
    "gitlab_token": "glpat-" + body(string.ascii_letters, 20),
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_is_found_in_a_sentence_and_announced_to_the_scan(kind: str) -> None:
    text = f"the value is '{KEYS[kind]}', keep it"

    assert kind in {secret.kind for secret in find_secrets(text)}
    assert not scan(normalise({"text": text})).signals.isdisjoint(SECRET_SIGNALS)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ACME_ADMIN_KEY=" + body(HEX, 32), "token"),
        ("the admin password is Autumn1987", "password"),
        ("curl -u deploy:tr4vel-light https://api.example.org", "password"),
        ("curl --user deploy:tr4vel-light https://api.example.org", "password"),
        ("machine api.example.org login deploy password tr4vel-light", "password"),
        ('{"auth": "ZGVwbG95OnRyNHZlbC1saWdodA=="}', "registry_credentials"),
        ("recovery phrase: " + " ".join(["apple", "river"] * 6), "recovery_phrase"),
    ],
)
def test_a_secret_is_known_by_the_place_it_stands_in(text: str, kind: str) -> None:
    assert kind in {secret.kind for secret in find_secrets(text)}
    assert not scan(normalise({"text": text})).signals.isdisjoint(SECRET_SIGNALS)


@pytest.mark.parametrize(
    "text",
    [
        "cache_key: " + body(HEX, 32),
        "partition-key=customer#0001#orders#2024",
        "idempotency_key: " + UUID,
        "primary_key: order_2024_000123_eu_west_1",
        "sha256:" + body(HEX, 64),
        "pul-2024 and api-gateway-v2 in sq_m",
        "the auth: none option",
        "curl -u $USER:$PASSWORD https://api.example.org",
        "hf_transformersTokenizerFastImplementation",
        "a wallet phrase is a list of words",
    ],
)
def test_names_of_other_things_are_left_alone(text: str) -> None:
    assert find_secrets(text) == []
