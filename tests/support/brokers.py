"""A broker on this machine, in a thread of its own, and permits for it from a key set in a file."""

import asyncio
import contextlib
import json
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from qwed.broker.broker_runs import listening
from qwed.broker.redemption import GatewayAddress
from qwed.broker.service import Broker
from qwed.domain.permits import PERMIT_TYPE, issue_permit
from qwed.ect.keys import NodeSigner, generate
from qwed.policy import load_policy
from qwed_sdk.conversations import action_hash_of

HOST = "api.payments.example"
SIGNER = NodeSigner(generate(), "broker-tests")
_numbers = iter(range(10**9))


def sign(action: dict[str, Any], audience: str = HOST, agent: str = "agent_1", **changed: Any) -> str:
    now = int(time.time() * 1000)
    name = action_hash_of(action)
    permit = issue_permit(f"act_{next(_numbers)}", agent, "acme", audience, "pay", name, now, 120)
    return SIGNER.sign(PERMIT_TYPE, {**permit.claims(SIGNER.issuer), **changed})


class RunningBroker:
    def __init__(self, broker: Broker, address: str, folder: Path) -> None:
        self.broker = broker
        self.address = address
        self.bundle = folder / "bundle.pem"
        self.proxy_url = broker.caller.proxy_url(address)
        self.base_url = broker.caller.base_url(address)

    def client(self, **options: Any) -> httpx2.Client:
        trust = ssl.create_default_context(cafile=str(self.bundle))
        return httpx2.Client(proxy=self.proxy_url, verify=trust, trust_env=False, timeout=60, **options)


@contextlib.contextmanager
def running(
    policy: str,
    folder: Path,
    environment: dict[str, str],
    policy_file: Path | None = None,
    trust: ssl.SSLContext | None = None,
    **gateway: Any,
) -> Iterator[RunningBroker]:
    """Without a gateway: keys from a file, and uses counted in memory."""
    (folder / "jwks.json").write_text(json.dumps(SIGNER.jwks()))
    known = {"base_url": "http://127.0.0.1:9", "key": "k" * 40, "replay": "memory"}
    known |= {"jwks": str(folder / "jwks.json")}
    rules = load_policy(policy, "qwed.yaml").broker
    assert rules is not None
    started, stop, found = threading.Event(), threading.Event(), []

    async def work() -> None:
        broker = Broker(rules, GatewayAddress(**{**known, **gateway}), environment, policy_file, trust)
        async with listening(broker, folder) as address:
            found.append(RunningBroker(broker, address, folder))
            started.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(work(),))
    thread.start()
    try:
        assert started.wait(60)
        yield found[0]
    finally:
        stop.set()
        thread.join(60)
