"""`qwed serve`: the gateway over HTTP."""

import functools
import ipaddress
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qwed import __version__
from qwed.domain.bounds import Proxies
from qwed.gateway.kernel.services import Services
from qwed.guards.startup import StartupHookGuard, load_accepted
from qwed.settings import Settings, environment, read_settings

if TYPE_CHECKING:
    from qwed.http.workers import Inherited

DEFAULT_POLICY_FILE = Path("qwed.yaml")


@click.command()
@click.option("--host", help="Address to listen on [127.0.0.1].")
@click.option("--port", help="Port to listen on [8000]; 0 takes any free one.")
@click.option(
    "--database",
    metavar="ADDRESS",
    help="Store: a path, sqlite:///…, postgresql://… or :memory: [qwed.db].",
)
@click.option("--redis", metavar="URL", help="redis://…: limits and events shared by all gateways.")
@click.option("--workers", metavar="N", help="Processes; more than one need PostgreSQL [1].")
@click.option("--config", metavar="FILE", help="Policy file [qwed.yaml, if there is one].")
@click.option("--tls-cert", metavar="FILE", help="Certificate chain in PEM; TLS 1.3 only.")
@click.option("--tls-key", metavar="FILE", help="Private key of the certificate.")
@click.option(
    "--behind-proxy",
    is_flag=True,
    default=None,
    help="A proxy in front ends TLS, and adds each caller's address to X-Forwarded-For.",
)
@click.option("--inherit", hidden=True, help="What a worker gets from its parent.")
def serve(behind_proxy: bool | None, inherit: str | None, **options: str | None) -> int:
    """Start the gateway.

    The first start prints an operator key, once. Ctrl-C finishes what was accepted, then stops; with
    workers, SIGHUP replaces them one after the other.
    """
    flag = None if behind_proxy is None else "true"
    settings = read_settings(options={**options, "behind_proxy": flag})
    if inherit is None:
        for warning in settings.warnings:
            click.echo(f"Warning: {warning}", err=True)
    _require_protection(settings)
    # Before the store opens, and before anything heavy is imported.
    try:
        StartupHookGuard(accepted=load_accepted(settings.startup_trust_file)).verify()
    except RuntimeError as error:
        raise click.ClickException(
            f"{error}\naccept what you know with: qwed doctor --trust-startup"
        ) from None
    if settings.workers > 1 and inherit is None:
        return _supervise(settings)
    return _serve(settings, inherit)


def _require_protection(settings: Settings) -> None:
    if _is_loopback(settings.host) or settings.tls_cert or settings.behind_proxy:
        return
    raise click.UsageError(
        f"{settings.host} can be reached from other machines: give --tls-cert and --tls-key,"
        " or say --behind-proxy where a proxy ends TLS"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _supervise(settings: Settings) -> int:
    """The store is made ready and the first key printed once, before any worker starts."""
    from qwed import bootstrap  # noqa: PLC0415 - after the start-up guard has looked
    from qwed.http.server import CannotServe  # noqa: PLC0415
    from qwed.http.workers import Supervisor, open_slots  # noqa: PLC0415

    services = _built(settings)
    try:
        key = _first_key(settings, services)
    finally:
        bootstrap.close(services)
    command = [sys.executable, "-m", "qwed", *sys.argv[1:]]
    try:
        slots = open_slots(settings.host, settings.port, settings.workers)
        port = slots[0][0].getsockname()[1]
        Supervisor(command, slots).run(lambda: _announce(settings, port, key))
    except CannotServe as error:
        raise click.ClickException(str(error)) from None
    return 0


def _built(settings: Settings) -> Services:
    from qwed import bootstrap  # noqa: PLC0415
    from qwed.stores import DatabaseInUse  # noqa: PLC0415

    try:
        return bootstrap.build_from_settings(settings, policy_path(settings))
    except (DatabaseInUse, bootstrap.CannotStart) as error:
        raise click.ClickException(str(error)) from None


def _serve(settings: Settings, inherit: str | None) -> int:
    from qwed import bootstrap  # noqa: PLC0415 - after the start-up guard has looked
    from qwed.http.app import create_app  # noqa: PLC0415
    from qwed.http.connections import Connections  # noqa: PLC0415
    from qwed.http.descriptors import within_descriptors  # noqa: PLC0415
    from qwed.http.logs import EventLog  # noqa: PLC0415
    from qwed.http.server import CannotServe  # noqa: PLC0415
    from qwed.http.server import serve as run_server  # noqa: PLC0415
    from qwed.http.workers import Inherited  # noqa: PLC0415

    inherited = Inherited(inherit) if inherit is not None else None
    end_traces = _traces()
    services = _built(settings)
    log = EventLog(settings.log_level)
    for warning in profile_warnings(services):
        log.write("warning", "profile", reason=warning)
    background = bootstrap.background(
        services, settings, lambda event, reason: log.write("warning", event, reason=reason)
    )

    def close() -> None:
        background.stop()
        bootstrap.close(services)
        end_traces()

    proxies = Proxies(settings.behind_proxy, settings.proxy_addresses)
    bounds = within_descriptors(settings, lambda why: log.write("warning", "descriptors", reason=why))
    app = create_app(
        services,
        log=log,
        proxies=proxies,
        max_listeners=bounds.listeners,
        on_close=close,
        counts_folder=inherited.counts_folder if inherited else None,
    )
    try:
        run_server(
            app,
            host=settings.host,
            port=settings.port,
            connections=Connections(bounds, proxies),
            tls_cert=settings.tls_cert,
            tls_key=settings.tls_key,
            sockets=inherited.sockets if inherited else None,
            on_listening=lambda port: _listening(settings, services, port, background.start, inherited),
        )
    except CannotServe as error:
        raise click.ClickException(str(error)) from None
    finally:
        close()
    return 0


def _traces() -> Callable[[], None]:
    from qwed.http.tracing import CannotTrace, start_traces  # noqa: PLC0415 - an extra

    try:
        end = start_traces(environment(), __version__)
    except CannotTrace as error:
        raise click.ClickException(str(error)) from None
    # Asked for when the server closes and when it is left: only once is there something to send.
    return functools.cache(end) if end is not None else lambda: None


def profile_warnings(services: Services) -> tuple[str, ...]:
    """What the deployment's profile recommends and its policy turns off."""
    own = services.assurance.own
    return own.warnings if own is not None else ()


def policy_path(settings: Settings) -> Path | None:
    if settings.config is not None:
        return settings.config
    return DEFAULT_POLICY_FILE if DEFAULT_POLICY_FILE.exists() else None


def _listening(
    settings: Settings,
    services: Services,
    port: int,
    start: Callable[[], None],
    inherited: "Inherited | None",
) -> None:
    """The first operator key is made now that it can be used: only its hash could be found again."""
    from qwed import bootstrap  # noqa: PLC0415

    if inherited is None:
        _announce(settings, port, _first_key(settings, services))
    else:
        inherited.listening()
        threading.Thread(target=inherited.stop_with_parent, name="qwed-parent", daemon=True).start()
    start()
    # Parsers and solvers load while the first requests are already answered.
    threading.Thread(target=bootstrap.warm, args=(services,), name="qwed-warm", daemon=True).start()


def _first_key(settings: Settings, services: Services) -> str | None:
    """To be shown; None where there was one already, or it was given."""
    from qwed import bootstrap  # noqa: PLC0415

    given = settings.operator_key.reveal() if settings.operator_key else None
    try:
        key = bootstrap.first_operator_key(services, given)
    except ValueError as error:
        raise click.ClickException(f"QWED_OPERATOR_KEY: {error}") from None
    return key if given is None else None


def _announce(settings: Settings, port: int, key: str | None) -> None:
    scheme = "https" if settings.tls_cert else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"{scheme}://{host}:{port}"
    lines = [
        f"QWED gateway  {address}",
        f"Dashboard     {address}/dashboard",
        f"API           {address}/docs",
    ]
    if key is not None:
        lines += [
            "",
            f"Operator key  {key}",
            "              shown this once; keep it: only its hash is stored",
        ]
    sys.stdout.write("\n".join(lines) + "\n\n")
    sys.stdout.flush()
