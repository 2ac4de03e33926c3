"""The gateway over HTTP: bytes in, use cases, bytes out."""
