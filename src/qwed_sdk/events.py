"""Server-sent events, line by line."""

import json

from qwed_sdk.results import Event


class EventReader:
    def __init__(self) -> None:
        self._data: list[str] = []

    def feed(self, line: str) -> Event | None:
        """An event when this line completes one. Comments and broken events are passed over."""
        if line.startswith("data:"):
            self._data.append(line[5:].strip())
            return None
        if line or not self._data:
            return None
        text, self._data = "\n".join(self._data), []
        try:
            value = json.loads(text)
        except ValueError:
            return None
        return Event(value) if isinstance(value, dict) and "type" in value else None
