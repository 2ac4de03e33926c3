"""`qwed webhooks`: who is told, and whether it arrived."""

import time
from typing import Final

import click

from qwed.cli.groups import CommandGroup
from qwed.cli.shared import Backend, print_json, with_backend
from qwed.cli.tables import print_table, when
from qwed.domain.json_types import Json
from qwed.domain.webhooks import Channel, Topic

TEST_SECONDS: Final = 15
LOOK_SECONDS: Final = 0.5


@click.group(cls=CommandGroup)
def webhooks() -> None:
    """Where QWED sends notifications of approvals, failures and trust: webhooks, Slack, e-mail."""


@webhooks.command("list")
@with_backend
def list_webhooks(backend: Backend, as_json: bool) -> None:
    """List webhooks, without their secrets."""
    found = backend.webhooks()
    if as_json:
        print_json(found)
        return
    rows = [
        [
            hook["id"],
            hook["kind"],
            hook["url"],
            " ".join(hook["events"]),
            hook["principal_id"] or "every principal",
            hook["role"] or "",
        ]
        for hook in found["webhooks"]
    ]
    print_table(
        "Webhooks",
        ["webhook", "kind", "address", "events", "of", "role"],
        rows,
        empty="nobody is told yet: qwed webhooks add URL",
    )


@webhooks.command()
@click.argument("url")
@click.option(
    "--kind", type=click.Choice([kind.value for kind in Channel]), help="[webhook; email for mailto:]"
)
@click.option(
    "--event",
    "events",
    multiple=True,
    type=click.Choice([topic.value for topic in Topic]),
    help="Only these; repeatable [all].",
)
@click.option("--role", help="Hear of approvals once this role may answer them.")
@click.option("--principal", "principal_id", metavar="ID", help="Whose agents it hears of [yours].")
@with_backend
def add(
    backend: Backend,
    url: str,
    kind: str | None,
    events: tuple[str, ...],
    role: str | None,
    principal_id: str | None,
    as_json: bool,
) -> None:
    """Send events to URL (mailto:somebody@example.com for e-mail). A webhook's secret is shown once."""
    kind = kind or ("email" if url.startswith("mailto:") else "webhook")
    given = {"events": events} if events else {}
    made = backend.create_webhook(url=url, kind=kind, role=role, principal_id=principal_id, **given)
    if as_json:
        print_json(made)
        return
    click.echo(made["id"])
    if "secret" in made:
        click.echo(f"{made['secret']}\nshown this once: it proves to the receiver that we are we", err=True)


@webhooks.command()
@click.argument("webhook_id")
@with_backend
def remove(backend: Backend, webhook_id: str, as_json: bool) -> None:
    """Remove a webhook. What was not delivered yet is given up."""
    gone = backend.drop_webhook(webhook_id)
    if as_json:
        print_json(gone)
        return
    click.echo(f"{webhook_id} is removed")


@webhooks.command()
@click.argument("webhook_id")
@click.option("--retry", "delivery_id", metavar="DELIVERY", help="Send this one again, now.")
@with_backend
def deliveries(backend: Backend, webhook_id: str, delivery_id: str | None, as_json: bool) -> None:
    """What was sent or is on its way, newest first: state, tries, the last error, the next try."""
    if delivery_id is not None:
        backend.retry_delivery(webhook_id, delivery_id)
    found = backend.deliveries(webhook_id)
    if as_json:
        print_json(found)
        return
    rows = [
        [
            d["id"],
            d["event"],
            d["state"],
            str(d["attempts"]),
            d["last_error"] or "",
            when(d["next_attempt_at"]),
        ]
        for d in found["deliveries"]
    ]
    print_table(
        "Deliveries",
        ["delivery", "event", "state", "tries", "last error", "next try"],
        rows,
        empty="nothing was sent yet",
    )


@webhooks.command()
@click.argument("webhook_id")
@with_backend
def test(backend: Backend, webhook_id: str, as_json: bool) -> int:
    """Send a test event, and say whether it arrived."""
    delivery = _follow(backend, webhook_id, backend.test_webhook(webhook_id))
    if as_json:
        print_json(delivery)
    elif delivery["state"] == "delivered":
        click.echo("it arrived")
    else:
        tried = delivery["last_error"] or "nobody has tried yet: deliveries are made by 'qwed serve'"
        click.echo(f"it has not arrived: {tried}", err=True)
    return 0 if delivery["state"] == "delivered" else 1


def _follow(backend: Backend, webhook_id: str, delivery: dict[str, Json]) -> dict[str, Json]:
    """The delivery after its first try, or after a while."""
    end = time.monotonic() + TEST_SECONDS
    while delivery["state"] == "pending" and not delivery["last_error"] and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
        found = backend.deliveries(webhook_id)["deliveries"]
        delivery = next((each for each in found if each["id"] == delivery["id"]), delivery)
    return delivery
