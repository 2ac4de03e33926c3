"""Where a principal wants to be told."""

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.times import iso


class Webhook(msgspec.Struct, frozen=True):
    """`secret` signs deliveries, so unlike a credential it has to be kept readable."""

    webhook_id: str
    principal_id: PrincipalId | None
    url: str
    events: tuple[str, ...]
    secret: str
    created_ms: int

    def __repr__(self) -> str:
        return f"Webhook({self.webhook_id!r}, {self.url!r})"

    def to_wire(self) -> dict[str, object]:
        return {
            "id": self.webhook_id,
            "principal_id": self.principal_id,
            "url": self.url,
            "events": self.events,
            "created_at": iso(self.created_ms),
        }
