"""JSON out: one encoder for answers, records and events."""

from typing import Any

import msgspec


def _fallback(value: Any) -> Any:
    """Engine evidence may hold exact values JSON has no type for; their text is what is shown."""
    return str(value)


_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=_fallback)
encode_json = _encoder.encode
