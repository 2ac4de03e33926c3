"""The gateway over HTTP: bytes in, use cases, bytes out."""

from qwed.http.app import create_app

__all__ = ["create_app"]
