"""`qwed serve`: the gateway over HTTP."""

import ipaddress
import sys
import threading
from pathlib import Path

import click

from qwed.gateway.services import Services
from qwed.guards.startup import StartupHookGuard, load_accepted
from qwed.settings import Settings, read_settings

DEFAULT_POLICY_FILE = Path("qwed.yaml")


@click.command()
@click.option("--host", help="Address to listen on [127.0.0.1].")
@click.option("--port", help="Port to listen on [8000]; 0 takes any free one.")
@click.option("--database", metavar="PATH", help="Store: a path, sqlite:///… or :memory: [qwed.db].")
@click.option("--config", metavar="FILE", help="Policy file [qwed.yaml, if there is one].")
@click.option("--tls-cert", metavar="FILE", help="Certificate chain in PEM; TLS 1.3 only.")
@click.option("--tls-key", metavar="FILE", help="Private key of the certificate.")
@click.option(
    "--behind-proxy",
    is_flag=True,
    default=None,
    help="A proxy in front ends TLS, and adds each caller's address to X-Forwarded-For.",
)
def serve(behind_proxy: bool | None, **options: str | None) -> int:
    """Start the gateway.

    The first start prints an operator key, once. Ctrl-C finishes what was accepted, then stops.
    """
    flag = None if behind_proxy is None else "true"
    settings = read_settings(options={**options, "behind_proxy": flag})
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
    return _serve(settings)


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


def _serve(settings: Settings) -> int:
    from qwed import bootstrap  # noqa: PLC0415 - after the start-up guard has looked
    from qwed.http.app import create_app  # noqa: PLC0415
    from qwed.http.logs import EventLog  # noqa: PLC0415
    from qwed.http.server import CannotServe  # noqa: PLC0415
    from qwed.http.server import serve as run_server  # noqa: PLC0415
    from qwed.stores import DatabaseInUse  # noqa: PLC0415

    try:
        services = bootstrap.build_from_settings(settings, policy_path(settings))
    except (DatabaseInUse, bootstrap.CannotStart) as error:
        raise click.ClickException(str(error)) from None
    app = create_app(
        services,
        log=EventLog(settings.log_level),
        behind_proxy=settings.behind_proxy,
        on_close=lambda: bootstrap.close(services),
    )
    try:
        run_server(
            app,
            host=settings.host,
            port=settings.port,
            tls_cert=settings.tls_cert,
            tls_key=settings.tls_key,
            on_listening=lambda port: _listening(settings, services, port),
        )
    except CannotServe as error:
        raise click.ClickException(str(error)) from None
    finally:
        bootstrap.close(services)
    return 0


def policy_path(settings: Settings) -> Path | None:
    if settings.config is not None:
        return settings.config
    return DEFAULT_POLICY_FILE if DEFAULT_POLICY_FILE.exists() else None


def _listening(settings: Settings, services: Services, port: int) -> None:
    """The first operator key is made now that it can be used: only its hash could be found again."""
    from qwed import bootstrap  # noqa: PLC0415

    given = settings.operator_key.reveal() if settings.operator_key else None
    try:
        key = bootstrap.first_operator_key(services, given)
    except ValueError as error:
        raise click.ClickException(f"QWED_OPERATOR_KEY: {error}") from None
    _announce(settings, port, key if given is None else None)
    # Parsers and solvers load while the first requests are already answered.
    threading.Thread(target=bootstrap.warm, args=(services,), name="qwed-warm", daemon=True).start()


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
