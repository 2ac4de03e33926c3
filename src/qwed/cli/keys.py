"""`qwed keys`: API keys."""

import click

from qwed.cli.groups import CommandGroup
from qwed.cli.shared import Backend, print_json, with_backend
from qwed.cli.tables import print_table, when
from qwed.domain.json_types import Json


@click.group(cls=CommandGroup)
def keys() -> None:
    """API keys: who may call the gateway."""


@keys.command()
@click.option("--principal", "principal_id", metavar="ID", help="Whose agents the key is for.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="verify, register, read, approve, trust, permits or metrics; repeatable.",
)
@click.option("--role", "roles", multiple=True, help="Such as operator:security; repeatable.")
@click.option("--operator", is_flag=True, help="A key that may do everything.")
@click.option("--label", help="What it is for.")
@click.option("--expires-in-days", type=click.IntRange(1, 3650), help="When it stops working.")
@with_backend
def create(
    backend: Backend,
    principal_id: str | None,
    scopes: tuple[str, ...],
    roles: tuple[str, ...],
    operator: bool,
    label: str | None,
    expires_in_days: int | None,
    as_json: bool,
) -> None:
    """Create a key; it is shown once.

    Without --scope it may verify, register and read, for one principal. Approving and changing trust
    have to be asked for: the process that runs an agent should not hold them.
    """
    if operator:
        roles = ("operator", *roles)
    elif principal_id is None:
        raise click.UsageError("say whose key it is with --principal ID, or make it an --operator key")
    wanted: dict[str, Json] = {"scopes": scopes} if scopes else {}
    if expires_in_days is not None:
        wanted["expires_in_seconds"] = expires_in_days * 86_400
    created = backend.create_key(principal_id=principal_id, roles=roles, label=label, **wanted)
    if as_json:
        print_json(created)
        return
    click.echo(created["api_key"])
    click.echo(f"{created['key_id']}: shown this once; only its hash is stored", err=True)


@keys.command("list")
@with_backend
def list_keys(backend: Backend, as_json: bool) -> None:
    """List keys, without their secrets."""
    found = backend.keys()
    if as_json:
        print_json(found)
        return
    rows = [
        [
            key["key_id"],
            key["principal_id"] or "-",
            " ".join(key["roles"] or key["scopes"]),
            key["label"] or "",
            f"revoked {when(key['revoked_at'])}" if key["revoked_at"] else f"since {when(key['created_at'])}",
        ]
        for key in found["keys"]
    ]
    print_table("Keys", ["key", "principal", "may", "label", "standing"], rows, below={"label": "key"})


@keys.command()
@click.argument("key_id")
@with_backend
def revoke(backend: Backend, key_id: str, as_json: bool) -> None:
    """Revoke a key at once."""
    revoked = backend.revoke_key(key_id)
    if as_json:
        print_json(revoked)
        return
    click.echo(f"{key_id} is revoked")
