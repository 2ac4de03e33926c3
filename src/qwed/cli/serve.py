"""`qwed serve`: the gateway over HTTP."""

import functools
import ipaddress
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qwed import __version__
from qwed.domain.bounds import Proxies
from qwed.domain.times import iso
from qwed.gateway.kernel.services import Services
from qwed.guards.startup import StartupHookGuard, load_accepted
from qwed.settings import MEMORY, PostgresUrl, Secret, Settings, environment, read_settings

if TYPE_CHECKING:
    from qwed.http.logs import EventLog
    from qwed.http.security_log import SecurityLog
    from qwed.http.signin.provider import Registration
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
@click.option("--shadow", metavar="FILE", help="A second policy: what it would say is recorded, no more.")
@click.option(
    "--observe",
    is_flag=True,
    default=None,
    help="Record every decision, and let none stop an action: for the first days before a running fleet.",
)
@click.option("--until", metavar="DATE", help="With --observe: from then on decisions are enforced.")
@click.option("--tls-cert", metavar="FILE", help="Certificate chain in PEM; TLS 1.3 only.")
@click.option("--tls-key", metavar="FILE", help="Private key of the certificate.")
@click.option(
    "--behind-proxy",
    is_flag=True,
    default=None,
    help="A proxy in front ends TLS, and adds each caller's address to X-Forwarded-For.",
)
@click.option("--inherit", hidden=True, help="What a worker gets from its parent.")
def serve(behind_proxy: bool | None, observe: bool | None, inherit: str | None, **options: str | None) -> int:
    """Start the gateway.

    The first start prints an operator key, once. Ctrl-C finishes what was accepted, then stops. SIGHUP puts
    the policy file in force; workers are then replaced one after the other.
    """
    flags = {"behind_proxy": behind_proxy, "observe": observe}
    settings = read_settings(
        options={**options, **{name: None if flag is None else "true" for name, flag in flags.items()}}
    )
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

    services = _build(settings)
    try:
        key = _first_key(settings, services)
        _start_policy(settings, services)
    finally:
        bootstrap.close(services)
    command = [sys.executable, "-m", "qwed", *sys.argv[1:]]
    try:
        slots = open_slots(settings.host, settings.port, settings.workers)
        port = slots[0][0].getsockname()[1]
        supervisor = Supervisor(command, slots, lambda: _reload(settings))
        supervisor.run(lambda: _announce(settings, port, key))
    except CannotServe as error:
        raise click.ClickException(str(error)) from None
    return 0


def _build(settings: Settings, *, is_worker: bool = False) -> Services:
    from qwed import bootstrap  # noqa: PLC0415
    from qwed.stores import DatabaseInUse  # noqa: PLC0415

    try:
        return bootstrap.build_from_settings(settings, policy_path(settings), is_worker=is_worker)
    except (DatabaseInUse, bootstrap.CannotStart) as error:
        raise click.ClickException(str(error)) from None


def _start_policy(settings: Settings, services: Services) -> Services:
    from qwed import bootstrap  # noqa: PLC0415

    try:
        is_shared = isinstance(settings.database, PostgresUrl)
        services, warning = bootstrap.start_policy(services, is_shared=is_shared)
    except bootstrap.CannotStart as error:
        raise click.ClickException(str(error)) from None
    if warning is not None:
        click.echo(f"Warning: {warning}", err=True)
    return services


def _reload(settings: Settings) -> None:
    """SIGHUP: the policy file becomes the version of the deployment, once for all workers."""
    from qwed import bootstrap  # noqa: PLC0415
    from qwed.gateway.kernel.answers import RequestError  # noqa: PLC0415
    from qwed.gateway.kernel.coroutines import run  # noqa: PLC0415
    from qwed.gateway.kernel.ports import GatewayError  # noqa: PLC0415
    from qwed.gateway.policy.change_policy import reload_file  # noqa: PLC0415

    if policy_path(settings) is None:
        return
    try:
        services = _build(settings)
        try:
            run(reload_file(services, None, {"reason": "SIGHUP"}))
        finally:
            bootstrap.close(services)
    except (click.ClickException, RequestError, GatewayError) as error:
        click.echo(f"the policy stays as it is: {error}", err=True)


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
    services = _build(settings, is_worker=inherited is not None)
    if inherited is None:
        services = _start_policy(settings, services)
    log = EventLog(settings.log_level)
    services = _observing(settings, _watch(settings, services, log), log)
    for warning in profile_warnings(services):
        log.write("warning", "profile", reason=warning)
    background = bootstrap.background(
        services, settings, lambda event, reason: log.write("warning", event, reason=reason)
    )

    security_log = _security_log(settings, services)

    def close() -> None:
        background.stop()
        if security_log is not None:
            security_log.close()
        bootstrap.close(services)
        end_traces()

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, lambda *_: background.must_reload.set())
    proxies = Proxies(settings.behind_proxy, settings.proxy_addresses)
    bounds = within_descriptors(settings, lambda why: log.write("warning", "descriptors", reason=why))
    try:
        app = create_app(
            services,
            log=log,
            proxies=proxies,
            max_listeners=bounds.listeners,
            on_close=close,
            counts_folder=inherited.counts_folder if inherited else None,
            registration=_registration(settings),
            home=settings.public_url,
            slack_secret=_reveal(settings.slack_signing_secret),
            security_log=security_log,
        )
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


def _security_log(settings: Settings, services: Services) -> "SecurityLog | None":
    """Beside the signing key; a gateway that keeps nothing keeps no addresses either."""
    from qwed.http.security_log import FOLDER, SecurityLog  # noqa: PLC0415

    if settings.database == MEMORY:
        return None
    log = SecurityLog(
        settings.data_dir / FOLDER,
        services.clock.now_ms,
        lambda: services.newest.policy.retention.security_log_days,
    )
    log.start()
    return log


def _registration(settings: Settings) -> "Registration | None":
    """How the identity provider knows this gateway."""
    if settings.oidc_issuer is None:
        return None
    try:
        from qwed.http.signin.provider import Registration  # noqa: PLC0415
    except ImportError:
        raise click.ClickException("sign-in needs an extra: pip install 'qwed-gateway[oidc]'") from None
    assert settings.oidc_client_id is not None and settings.public_url is not None
    return Registration(
        settings.oidc_issuer,
        settings.oidc_client_id,
        _reveal(settings.oidc_client_secret),
        settings.public_url,
    )


def _reveal(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()


def _watch(settings: Settings, services: Services, log: "EventLog") -> Services:
    """With the second policy, if there is one; one with mistakes keeps the gateway from starting."""
    from qwed import bootstrap  # noqa: PLC0415

    if settings.shadow is None:
        return services
    try:
        report = functools.partial(_report, log)
        return bootstrap.watch(services, settings.shadow, report)
    except bootstrap.CannotStart as error:
        raise click.ClickException(f"--shadow: {error}") from None


def _observing(settings: Settings, services: Services, log: "EventLog") -> Services:
    from qwed import bootstrap  # noqa: PLC0415

    if not settings.observe:
        return services
    try:
        services = bootstrap.observe(services, settings.until)
    except bootstrap.CannotStart as error:
        raise click.ClickException(f"--observe: {error}") from None
    is_over = settings.until is not None and settings.until <= services.clock.now_ms()
    end = "" if settings.until is None else f" until {iso(settings.until)}"
    says = f"decisions are enforced: --observe was{end}" if is_over else f"no decision stops an action{end}"
    log.write("warning", "observe", reason=says)
    return services


def _report(log: "EventLog", event: str, reason: str) -> None:
    log.write("warning", event, reason=reason)


def _traces() -> Callable[[], None]:
    from qwed.http.traces import CannotTrace, start_traces  # noqa: PLC0415 - an extra

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
