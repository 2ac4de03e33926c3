"""What a broker may do for an agent: which hosts it opens and with whose credential, and which it tunnels."""

from collections.abc import Mapping
from typing import Final

import msgspec

HTTPS_PORT: Final = 443
#: In `format`: the credential as it is, or its base64 form (`Basic {base64}` with `user:password`).
PLAIN_MARK: Final = "{}"
BASE64_MARK: Final = "{base64}"


class HeaderInjection(msgspec.Struct, frozen=True):
    """`source` is `env:NAME`, `file:/path` or `exec:/path argument …`."""

    header: str
    source: str
    format: str = PLAIN_MARK


class BrokerHost(msgspec.Struct, frozen=True):
    """A host that is reached with a permit, and with a credential that the agent does not have.

    `actions` with `methods`: the URL is the action's target. `routes` say more: path, query and body are its
    parameters. With `is_hashed` the body is not read as fields, its SHA-256 is a parameter.
    """

    inject: HeaderInjection
    actions: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    routes: Mapping[str, str] = msgspec.field(default_factory=dict)
    fields: Mapping[str, str] = msgspec.field(default_factory=dict)
    headers: tuple[str, ...] = ()
    audience: str | None = None
    address: str | None = None
    is_hashed: bool = False


class BrokerRules(msgspec.Struct, frozen=True):
    """`tunnels` are `host:port`, without a credential and unopened."""

    tunnels: tuple[str, ...] = ()
    hosts: Mapping[str, BrokerHost] = msgspec.field(default_factory=dict)
