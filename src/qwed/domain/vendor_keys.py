"""The shapes of vendors' keys: what a key begins with, what follows, and what has to be true of it.

A shape alone is not enough: what follows must look random, or decode to what it claims to be, so that
`sk-your-key-here` and `hf_your_token` stay what they are.
"""

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

import msgspec

from qwed.domain.lazy_pattern import lazy_pattern


def entropy(value: str) -> float:
    """Shannon entropy in bits per character."""
    total = len(value)
    if not total:
        return 0.0
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


def _is_lively(body: str) -> bool:
    """Random enough for a key: not a run of x, not a phrase such as `your-api-key-here`."""
    if holds_a_placeholder(body):
        return False
    return (_DIGIT.search(body) is not None or _mixes_cases(body)) and entropy(body[:64]) >= 2.5


def holds_a_placeholder(value: str) -> bool:
    lowered = value.lower()
    return any(word in lowered for word in _PLACEHOLDER_WORDS)


def _mixes_cases(body: str) -> bool:
    """Every other letter a capital, about: no name is written so, and a random run without digits is."""
    capitals = sum(map(str.isupper, body))
    return len(body) >= 20 and 0.3 < capitals / len(body) < 0.7


_DIGIT = lazy_pattern("[0-9]")
_PLACEHOLDER_WORDS: Final = (
    "your",
    "xxxx",
    "placeholder",
    "redacted",
    "masked",
    "replace",
    "....",
    "insert",
    "goes-here",
)


def _always(body: str) -> bool:
    return True


def _is_jwt(token: str) -> bool:
    header = token.split(".", 1)[0]
    try:
        decoded = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(decoded, dict) and ("alg" in decoded or "typ" in decoded or "enc" in decoded)


def _is_aws_secret(body: str) -> bool:
    kinds = (
        any(c.isupper() for c in body) and any(c.islower() for c in body) and any(c.isdigit() for c in body)
    )
    return kinds and entropy(body) >= 4.0


def _is_basic_credentials(header: str) -> bool:
    return is_credential_pair(header.partition(" ")[2])


def is_credential_pair(encoded: str) -> bool:
    """Whether this is base64 of `name:password`."""
    try:
        decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode("utf-8")
    except (ValueError, binascii.Error):
        return False
    return ":" in decoded and decoded.isprintable()


_Check = Callable[[str], bool]

#: What stands, in lower case, before keys that are not one run of 16 letters and signs or more.
INTRODUCTIONS: Final = ("asic ", "putty-user-key-file-", "xox")


class _Vendor(msgspec.Struct, frozen=True):
    """`marker` must stand in the text for `pattern` to be tried; `accept` sees the matched key."""

    kind: str
    marker: str
    pattern: re.Pattern[str]
    accept: _Check


def _vendor(kind: str, marker: str, pattern: str, accept: _Check = _is_lively) -> _Vendor:
    # A pattern that begins with a literal is found by plain search; its boundary is looked at afterwards.
    boundary = r"(?<![A-Za-z0-9])" if pattern[0] in "([" else ""
    return _Vendor(kind, marker, lazy_pattern(boundary + pattern), accept)


VENDORS: Final = (
    _vendor("aws_access_key", "AKIA", r"AKIA[A-Z0-9]{16}(?![A-Za-z0-9])", _always),
    _vendor("aws_access_key", "ASIA", r"ASIA[A-Z0-9]{16}(?![A-Za-z0-9])", _always),
    _vendor("aws_secret_key", "aws", r"(?<![/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])", _is_aws_secret),
    _vendor("aws_secret_key", "AWS", r"(?<![/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])", _is_aws_secret),
    _vendor("github_token", "gh", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _vendor("github_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _vendor("gitlab_token", "gl", r"gl(?:pat|ptt|rt|dt|cbt|soat|ft|imt|agent)-[A-Za-z0-9_.-]{20,}"),
    _vendor("slack_token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    _vendor("slack_token", "xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    _vendor(
        "slack_webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9_/-]{20,}",
        _always,
    ),
    _vendor("discord_webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/[0-9]{5,25}/[\w-]{20,}"),
    *(
        _vendor(
            "discord_token",
            ".",
            rf"{first}[A-Za-z0-9_-]{{23,25}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,40}}",
        )
        for first in "MNO"
    ),
    _vendor("stripe_key", "sk_", r"sk_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    _vendor("stripe_key", "rk_", r"rk_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    _vendor("stripe_key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    _vendor("anthropic_key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _vendor("openai_key", "sk-", r"sk-(?!ant-)(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{16,}"),
    _vendor("google_api_key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _vendor("google_oauth_token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    _vendor("google_oauth_secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    _vendor("sendgrid_key", "SG.", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    _vendor("twilio_key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _vendor("mailgun_key", "key-", r"key-[0-9a-z]{32}(?![A-Za-z0-9])"),
    _vendor("mailchimp_key", "-us", r"[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])"),
    _vendor("npm_token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    _vendor("pypi_token", "pypi-", r"pypi-[A-Za-z0-9_-]{40,}"),
    _vendor("huggingface_token", "hf_", r"hf_[A-Za-z0-9]{28,}"),
    _vendor("docker_token", "dckr_", r"dckr_[po]at_[A-Za-z0-9_-]{20,}"),
    _vendor("digitalocean_token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _vendor("shopify_token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _vendor("square_token", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    _vendor("databricks_token", "dapi", r"dapi[0-9a-f]{32}"),
    _vendor("vault_token", "hv", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _vendor("age_key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _vendor("telegram_token", ":A", r":(?<=[0-9]{8}:)A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])"),
    _vendor("azure_storage_key", "Key=", r"(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{40,}={0,2}"),
    _vendor("azure_sas_token", "sig=", r"sig=[A-Za-z0-9%+/]{40,}(?:=|%3[dD])*"),
    _vendor("atlassian_token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{50,}"),
    _vendor("linear_key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _vendor("notion_token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    _vendor("postman_key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _vendor("newrelic_key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _vendor("grafana_token", "gl", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    _vendor("doppler_token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.]{40,}"),
    _vendor("groq_key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _vendor("replicate_token", "r8_", r"r8_[A-Za-z0-9]{37,}"),
    _vendor("supabase_token", "sbp_", r"sbp_[0-9a-f]{40}"),
    _vendor("sentry_token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_]{40,}"),
    _vendor("qwed_credential", "qwed_", r"qwed_(?:agent|live)_[A-Za-z0-9_-]{16,}", _always),
    _vendor("qwed_webhook_secret", "whsec_", r"whsec_[A-Za-z0-9_-]{24,}"),
    _vendor("basic_credentials", "asic ", r"[Bb]asic [A-Za-z0-9+/]{8,512}={0,2}", _is_basic_credentials),
    _vendor("jwt", "eyJ", r"(?<![_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", _is_jwt),
    _vendor(
        "onepassword_key", "A3-", r"A3-[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}(?![A-Z0-9])"
    ),
    _vendor("onepassword_token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/]{200,}={0,2}"),
    _vendor("adobe_secret", "p8e-", r"p8e-[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _vendor("airtable_token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _vendor("aiven_token", "AVNS_", r"AVNS_[A-Za-z0-9_-]{16,}"),
    _vendor("alibaba_access_key", "LTAI", r"LTAI[A-Za-z0-9]{12,24}(?![A-Za-z0-9])"),
    _vendor("artifactory_key", "AKCp", r"AKCp[A-Za-z0-9]{60,}"),
    _vendor("artifactory_key", "cmVmd", r"cmVmd[A-Za-z0-9]{59}(?![A-Za-z0-9])"),
    _vendor(
        "azure_client_secret",
        "Q~",
        r"~(?<=[A-Za-z0-9_~.]{3}[0-9]Q~)[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
    ),
    _vendor("brevo_key", "xkeysib-", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _vendor("buildkite_token", "bkua_", r"bkua_[0-9a-f]{40}"),
    _vendor("circleci_token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9_]{40,}"),
    _vendor("clickhouse_key", "4b1d", r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])"),
    _vendor("clojars_token", "CLOJARS_", r"CLOJARS_[0-9A-Za-z]{60}"),
    _vendor("cloudflare_origin_key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    _vendor("contentful_token", "CFPAT-", r"CFPAT-[A-Za-z0-9_-]{43}"),
    _vendor("defined_networking_key", "dnkey-", r"dnkey-[A-Za-z0-9_=-]{26}-[A-Za-z0-9_=-]{52}"),
    _vendor("dropbox_token", "sl.", r"sl\.[A-Za-z0-9_=-]{130,}"),
    _vendor("duffel_token", "duffel_", r"duffel_(?:live|test)_[A-Za-z0-9_=-]{40,}"),
    _vendor("dynatrace_token", "dt0", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _vendor("easypost_key", "EZ", r"EZ[AT]K[A-Za-z0-9]{50,}"),
    _vendor("facebook_token", "EAA", r"EAA(?:[A-Z][A-Za-z0-9]{50,}|[AC][A-Za-z0-9_-]{55,})"),
    _vendor("figma_token", "figd_", r"figd_[A-Za-z0-9_-]{36,}"),
    _vendor("fly_token", "fo1_", r"fo1_[A-Za-z0-9_-]{43}"),
    _vendor("fly_token", "fm", r"fm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3}"),
    _vendor("frameio_token", "fio-u-", r"fio-u-[A-Za-z0-9_=-]{64}"),
    _vendor("heroku_key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,}"),
    _vendor("hubspot_token", "pat-", r"pat-(?:na|eu)[0-9]-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    _vendor("infracost_key", "ico-", r"ico-[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _vendor("jina_key", "jina_", r"jina_[0-9a-f]{32}[A-Za-z0-9_-]{20,}"),
    _vendor("langchain_key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    _vendor("mailersend_token", "mlsn.", r"mlsn\.[0-9a-f]{64}"),
    *(
        _vendor(
            "mapbox_token",
            f"{first}k.",
            rf"{first}k\.(?:eyJ[A-Za-z0-9_-]{{40,}}|[a-z0-9]{{60}})\.[A-Za-z0-9_-]{{20,24}}",
        )
        for first in "ps"
    ),
    _vendor("maxmind_key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![A-Za-z0-9])"),
    _vendor("netlify_token", "nfp_", r"nfp_[A-Za-z0-9]{36,}"),
    _vendor("newrelic_key", "NR", r"NR(?:II|AL|JS|RA)-[A-Za-z0-9_-]{19,}"),
    _vendor("nuget_key", "oy2", r"oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    _vendor("nvidia_key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{60,}"),
    _vendor("octopus_key", "API-", r"API-[A-Z0-9]{26}(?![A-Za-z0-9])"),
    _vendor("openshift_token", "sha256~", r"sha256~[A-Za-z0-9_-]{43}"),
    _vendor("perplexity_key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    _vendor("pinecone_key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,}"),
    _vendor(
        "plaid_token",
        "access-",
        r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    _vendor("planetscale_secret", "pscale_", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{32,}"),
    _vendor("prefect_key", "pnu_", r"pnu_[a-z0-9]{36}(?![A-Za-z0-9])"),
    _vendor("pulumi_token", "pul-", r"pul-[0-9a-f]{40}(?![A-Za-z0-9])"),
    _vendor("putty_key", "PuTTY-User-Key-File-", r"PuTTY-User-Key-File-[23]: \S{3,30}", _always),
    _vendor("readme_key", "rdme_", r"rdme_[a-z0-9]{70}"),
    _vendor("render_key", "rnd_", r"rnd_[A-Za-z0-9]{28,}"),
    _vendor("rubygems_key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _vendor("scalingo_token", "tk-us-", r"tk-us-[A-Za-z0-9_-]{48}"),
    _vendor("shippo_token", "shippo_", r"shippo_(?:live|test)_[0-9a-fA-F]{40}"),
    _vendor("sonar_token", "sq", r"sq[apu]_[0-9a-f]{40}(?![A-Za-z0-9])"),
    _vendor("sourcegraph_token", "sgp_", r"sgp_(?:[A-Za-z0-9]{16}_)?[0-9a-f]{40}"),
    _vendor("supabase_token", "sb_secret_", r"sb_secret_[A-Za-z0-9_-]{20,}"),
    _vendor("tailscale_key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9]{10,}-?[A-Za-z0-9]{10,}"),
    _vendor("tavily_key", "tvly-", r"tvly-[A-Za-z0-9_-]{28,}"),
    _vendor(
        "teams_webhook",
        ".webhook.office.com",
        r"[a-z0-9-]{1,63}\.webhook\.office\.com/webhookb2/[\w@-]{60,}/IncomingWebhook/",
        _always,
    ),
    _vendor("terraform_token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    _vendor("twitter_bearer", "AAAAAAAAAAAAAAAAAAAA", r"A{20,22}[A-Za-z0-9%+/=_-]{70,}"),
    _vendor("typeform_token", "tfp_", r"tfp_[A-Za-z0-9_.=-]{59}"),
    _vendor("xai_key", "xai-", r"xai-[A-Za-z0-9]{70,}"),
    _vendor("yandex_key", "AQVN", r"AQVN[A-Za-z0-9_-]{35,38}(?![A-Za-z0-9_-])"),
    _vendor("password_hash", "$", r"\$(?:apr1|[156y]|2[abxy]|argon2(?:id?|d))\$[A-Za-z0-9./$,=+]{20,200}"),
)


def may_hold_a_key(run: str) -> bool:
    """Whether a key stands in a run of letters and signs: any but those that `INTRODUCTIONS` tell of, and the
    secret keys of AWS, which begin with nothing of their own."""
    if _any_beginning().search(run) is not None:
        return True
    return any(
        vendor.marker in run and vendor.pattern.search(run) is not None for vendor in _find_known_by_middle()
    )


@cache
def _any_beginning() -> re.Pattern[str]:
    sources = [source for vendor in VENDORS if (source := vendor.pattern.pattern)[0].isalnum()]
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(sources)})")


@cache
def _find_known_by_middle() -> tuple[_Vendor, ...]:
    return tuple(
        vendor
        for vendor in VENDORS
        if not vendor.pattern.pattern[0].isalnum()
        and vendor.kind != "aws_secret_key"
        and vendor.marker not in INTRODUCTIONS
    )


def vendor_keys(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind, beginning and end of every key in the text."""
    for vendor in VENDORS:
        if vendor.marker not in text:
            continue
        for match in vendor.pattern.finditer(text):
            if not _starts_inside_a_word(text, match.start()) and vendor.accept(match.group()):
                yield vendor.kind, match.start(), match.end()


def _starts_inside_a_word(text: str, start: int) -> bool:
    return start > 0 and text[start].isalnum() and text[start - 1].isalnum()
