"""What `qwed doctor` compares with the gateway that runs: version, policy, keys, clock and store."""

import email.utils
import time
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import msgspec

from qwed import __version__
from qwed.settings import Settings

OK, WARNING, WRONG = "ok", "warning", "wrong"
#: Tokens and attestations are compared with clocks; they allow half a minute.
MAX_SKEW_SECONDS: Final = 30


class DoctorFinding(msgspec.Struct, frozen=True):
    check: str
    state: str
    says: str
    fix: str = ""


class RunningGateway:
    """One gateway, asked without a key, and with `QWED_API_KEY` where there is one."""

    def __init__(self, settings: Settings) -> None:
        self.address = settings.base_url or f"http://{settings.host}:{settings.port}"
        key = settings.api_key
        headers = {} if key is None else {"Authorization": f"Bearer {key.reveal()}"}
        self.has_key = key is not None
        self._client = httpx2.Client(base_url=self.address, timeout=3, headers=headers)

    def ask(self, path: str) -> tuple[int, dict[str, Any], str]:
        """Status, body and its clock; 0 where nobody answers."""
        try:
            response = self._client.get(path)
            body = response.json()
        except (httpx2.HTTPError, ValueError):
            return 0, {}, ""
        return response.status_code, body if isinstance(body, dict) else {}, response.headers.get("date", "")


def compare_gateway(settings: Settings, policy_version: str | None) -> Iterator[DoctorFinding]:
    """`policy_version` is that of the policy file here; None where it can't be read."""
    gateway = RunningGateway(settings)
    status, ready, date = gateway.ask("/ready")
    if not status:
        yield DoctorFinding("gateway", WARNING, f"none answers at {gateway.address}", "start one: qwed serve")
        return
    if not ready.get("ready"):
        yield DoctorFinding("gateway", WRONG, f"not ready at {gateway.address}: {ready}", "see its log")
        return
    yield DoctorFinding("gateway", OK, f"ready at {gateway.address}")
    yield from _compare_version(gateway)
    yield from _compare_clock(date)
    yield from _compare_policy(ready, policy_version)
    yield from _compare_keys(gateway, settings)
    yield from _try_key(gateway)


def _compare_version(gateway: RunningGateway) -> Iterator[DoctorFinding]:
    _, health, _ = gateway.ask("/health")
    if health.get("version") == __version__:
        yield DoctorFinding("gateway version", OK, __version__)
    else:
        says = f"the gateway runs {health.get('version')}, this is {__version__}"
        yield DoctorFinding("gateway version", WARNING, says, "install the same version on both sides")


def _compare_clock(date: str) -> Iterator[DoctorFinding]:
    try:
        skew = abs(email.utils.parsedate_to_datetime(date).timestamp() - time.time())
    except (TypeError, ValueError):
        return
    if skew > MAX_SKEW_SECONDS:
        says = f"the gateway's differs from the one here by {skew:.0f} s"
        yield DoctorFinding("clock", WRONG, says, "keep both with NTP")


def _compare_policy(ready: dict[str, Any], here: str | None) -> Iterator[DoctorFinding]:
    in_force = ready.get("policy_version")
    if here is None or in_force is None:
        return
    if in_force == here:
        yield DoctorFinding("policy in force", OK, "the one that is here")
    else:
        says = f"the gateway decides by {str(in_force)[:19]}…, the policy here is {here[:19]}…"
        fix = "qwed policy diff, then qwed policy apply; or name the gateway's file with QWED_CONFIG"
        yield DoctorFinding("policy in force", WARNING, says, fix)


def _compare_keys(gateway: RunningGateway, settings: Settings) -> Iterator[DoctorFinding]:
    if isinstance(settings.database, str):
        return
    from qwed.bootstrap import signing_key_path, source_of  # noqa: PLC0415 - loads the engines' rules
    from qwed.ect.key_files import read_ring  # noqa: PLC0415
    from qwed.ect.keys import KeyUnusable, node_issuer  # noqa: PLC0415

    place = signing_key_path(settings.database, settings.data_dir)
    if not (_is_local(gateway.address) and (place.exists() or settings.signing_key)):
        return
    try:
        ring = read_ring(place, node_issuer(settings.node_name), source_of(settings.signing_key))
    except KeyUnusable as error:
        yield DoctorFinding("signing key", WRONG, str(error), "restore it from a backup")
        return
    _, jwks, _ = gateway.ask("/.well-known/jwks.json")
    published = [key.get("kid") for key in jwks.get("keys", ())]
    if published[:1] == [ring.kid]:
        yield DoctorFinding("signing key", OK, "the gateway signs with the one that is here")
    elif ring.kid in published:
        says, fix = "the gateway was started before the key was rotated", "restart it"
        yield DoctorFinding("signing key", WARNING, says, fix)
    else:
        says = f"the gateway signs with another key than {place if place.exists() else 'QWED_SIGNING_KEY'}"
        fix = "name the gateway's own store with --database and QWED_DATA_DIR"
        yield DoctorFinding("signing key", WARNING, says, fix)


def _is_local(address: str) -> bool:
    return any(host in address for host in ("//127.0.0.1", "//localhost", "//[::1]"))


def _try_key(gateway: RunningGateway) -> Iterator[DoctorFinding]:
    if not gateway.has_key:
        return
    status, body, _ = gateway.ask("/ledger/checkpoint")
    if status in (200, 404):
        yield DoctorFinding("API key", OK, f"taken; the ledger has {body.get('size', 0)} signed entries")
    elif status == 403:
        yield DoctorFinding("API key", OK, "taken; it may not read")
    else:
        says = f"QWED_API_KEY is refused: {body.get('error', {}).get('message', status)}"
        yield DoctorFinding(
            "API key", WRONG, says, "qwed keys create, and set QWED_API_KEY to what it prints"
        )
