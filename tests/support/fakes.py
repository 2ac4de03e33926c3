"""Stand-ins for the gateway's ports: a clock that is told the time, a prover that is told the answer."""

from collections.abc import Callable

from qwed.domain.actions import Action
from qwed.domain.findings import Finding, Status
from qwed.domain.risk import Risk
from qwed.domain.times import parse_iso
from qwed.engines.fair_queue import Client
from qwed.gateway.kernel.ports import SigningFailed

NOON = parse_iso("2026-04-06T12:00:00Z")
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


class FakeClock:
    def __init__(self, now_ms: int = NOON) -> None:
        self.now = now_ms

    def now_ms(self) -> int:
        return self.now

    def counter(self) -> float:
        return self.now / 1000

    def advance(self, milliseconds: int) -> None:
        self.now += milliseconds


class ToldProver:
    """Finds what it is told to find; VERIFIED at LOW risk until then."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Action]] = []
        self.find: Callable[[str, Action], Finding] = lambda engine, _: Finding(
            Status.VERIFIED, Risk.LOW, engine
        )

    def says(self, status: Status, risk: Risk = Risk.LOW, **more: object) -> None:
        self.find = lambda engine, _: Finding(status, risk, engine, **more)

    async def prove(self, engine: str, action: Action, client: Client) -> Finding:
        self.asked.append((engine, action))
        return self.find(engine, action)

    def warm(self) -> None:
        pass

    def retire(self) -> None:
        pass

    def close(self) -> None:
        pass


class BrokenSigner:
    issuer = "did:qwed:node:broken"
    is_remote = False

    def sign(self, typ: str, claims: dict) -> str:
        raise SigningFailed("the key is gone")

    def jwks(self) -> dict:
        return {"keys": []}

    def verify(self, typ: str, token: str) -> dict | None:
        return None

    def forged(self, typ: str, token: str) -> dict | None:
        return None

    def derive(self, purpose: bytes) -> bytes:
        raise SigningFailed("the key is gone")
