"""The environment is read once, strictly, and no secret leaves it."""

import re
from pathlib import Path

import msgspec
import pytest

from qwed.domain.bounds import Bounds
from qwed.settings import (
    MEMORY,
    SETTINGS,
    PostgresUrl,
    Secret,
    Settings,
    SettingsError,
    parse_database,
    read_settings,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def mistakes_of(environ: dict[str, str]) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read_settings(environ)
    return str(caught.value).splitlines()


def test_an_empty_environment_gives_the_documented_defaults():
    settings = read_settings({})

    assert (settings.host, settings.port, settings.database) == ("127.0.0.1", 8000, Path("qwed.db"))
    assert settings.config is None
    assert settings.operator_key is None
    assert settings.doom_loop_guard_required is False
    assert settings.log_level == "info"
    assert settings.warnings == ()


def test_every_variable_reaches_its_field():
    settings = read_settings(
        {
            "QWED_HOST": "::1",
            "QWED_PORT": "0",
            "QWED_DATABASE": "sqlite:////var/lib/qwed/store.db",
            "QWED_CONFIG": "conf/qwed.yaml",
            "QWED_OPERATOR_KEY": "qwed_op_0123456789abcdefghijkl",
            "QWED_BASE_URL": "https://qwed.example.com:8443/gate/",
            "QWED_API_KEY": "qwed_live_0123456789abcdef",
            "QWED_LOG_LEVEL": "DEBUG",
            "QWED_DATA_DIR": "/srv/qwed",
            "QWED_STARTUP_TRUST_FILE": "/srv/trust.json",
            "QWED_AGENT_TOKEN": "qwed_agent_0123456789abcdef",
            "QWED_MCP_PINS_FILE": "/srv/pins.json",
            "QWED_MCP_LISTEN_TOKEN": "let-my-client-in-0123456789",
            "QWED_TLS_CERT": "cert.pem",
            "QWED_TLS_KEY": "key.pem",
            "QWED_BEHIND_PROXY": "Yes",
            "QWED_NODE_NAME": "eu-1.example",
            "DOOM_LOOP_GUARD_REQUIRED": "1",
        }
    )

    assert settings == Settings(
        host="::1",
        port=0,
        database=Path("/var/lib/qwed/store.db"),
        config=Path("conf/qwed.yaml"),
        operator_key=Secret("qwed_op_0123456789abcdefghijkl"),
        base_url="https://qwed.example.com:8443/gate",
        api_key=Secret("qwed_live_0123456789abcdef"),
        log_level="debug",
        data_dir=Path("/srv/qwed"),
        startup_trust_file=Path("/srv/trust.json"),
        agent_token=Secret("qwed_agent_0123456789abcdef"),
        mcp_pins_file=Path("/srv/pins.json"),
        mcp_listen_token=Secret("let-my-client-in-0123456789"),
        tls_cert=Path("cert.pem"),
        tls_key=Path("key.pem"),
        behind_proxy=True,
        node_name="eu-1.example",
        doom_loop_guard_required=True,
    )


def test_every_setting_names_an_existing_field_once():
    fields = [setting.field for setting in SETTINGS]

    assert sorted([*fields, "warnings"]) == sorted(Settings.__struct_fields__)


def test_an_empty_value_counts_as_not_set():
    assert read_settings(dict.fromkeys((setting.variable for setting in SETTINGS), "")) == read_settings({})


def test_an_option_of_the_command_line_wins_over_its_variable():
    settings = read_settings(
        {"QWED_PORT": "1", "QWED_HOST": "::1"}, {"port": "2", "database": "/a/b.db", "host": None}
    )

    assert (settings.port, settings.host, settings.data_dir) == (2, "::1", Path("/a"))


def test_an_invalid_option_is_named_as_it_was_written():
    with pytest.raises(SettingsError, match=r"^--log-level: 'loud' is not acceptable: expected one of"):
        read_settings({}, {"log_level": "loud"})
    with pytest.raises(SettingsError, match=r"^--database: '' is not acceptable"):
        read_settings({}, {"database": ""})


def test_without_a_mapping_the_environment_of_the_process_is_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("QWED_PORT", "1234")

    assert read_settings().port == 1234


def test_an_unknown_name_stops_start_up_and_the_nearest_one_is_offered():
    assert mistakes_of({"QWED_DATABSE": "x.db"}) == [
        "QWED_DATABSE is not a setting; did you mean QWED_DATABASE?"
    ]
    assert mistakes_of({"QWED_ZZZ": ""}) == [
        "QWED_ZZZ is not a setting; see the settings reference for the names there are"
    ]


def test_names_of_the_guards_and_of_other_programs_are_left_alone():
    environ = {"QWED_OR_MODE": "x", "QWED_VECTORS": "y", "QWED_TIER": "long"}
    environ |= {"PATH": "/bin", "qwed_host": "z", "QWED": "1"}

    assert read_settings(environ) == read_settings({})


def test_all_mistakes_are_reported_at_once():
    mistakes = mistakes_of({"QWED_PORT": "80a", "QWED_HOST": "a b", "QWED_HOTS": "x"})

    assert [re.split(r"[: ]", mistake)[0] for mistake in mistakes] == ["QWED_HOTS", "QWED_HOST", "QWED_PORT"]


@pytest.mark.parametrize(
    ("variable", "text", "why"),
    [
        ("QWED_PORT", "65536", "expected a port from 0 (any free one) to 65535"),
        ("QWED_PORT", "-1", "expected a port"),
        ("QWED_PORT", "８０", "expected a port"),
        ("QWED_PORT", "80\n", "expected a port"),
        ("QWED_PORT", "9" * 5000, "expected a port"),
        ("QWED_HOST", "127.0.0.1:8000", "without a port"),
        ("QWED_HOST", "http://localhost", "expected a host name"),
        ("QWED_HOST", "a\0b", "expected a host name"),
        ("QWED_HOST", "::1::", "expected a host name"),
        ("QWED_DATABASE", "postgresql://u:hunter2@db", "expected postgresql://user@host:port/database"),
        ("QWED_DATABASE", "mysql://db/qwed", "cannot store in 'mysql'"),
        ("QWED_DATABASE", "   ", "expected a file path"),
        ("QWED_DATABASE", "sqlite:///%ff.db", "not UTF-8"),
        ("QWED_CONFIG", "a\0b", "cannot hold a NUL"),
        ("QWED_BASE_URL", "qwed.example.com", "expected an address"),
        ("QWED_BASE_URL", "https://user:hunter2@qwed.example.com", "expected an address"),
        ("QWED_BASE_URL", "http://h:99999", "expected an address"),
        ("QWED_BASE_URL", "http://[::1", "expected an address"),
        ("QWED_BASE_URL", "http://h/?a=b", "expected an address"),
        ("QWED_BASE_URL", "file:///etc/passwd", "expected an address"),
        ("QWED_LOG_LEVEL", "loud", "expected one of debug, info, warning, error, critical"),
        ("QWED_BEHIND_PROXY", "maybe", "expected true or false"),
        ("QWED_MAX_CONNECTIONS", "0", "expected a whole number from 16 to 100000"),
        ("QWED_HEADER_SECONDS", "1.5", "expected a whole number"),
        ("QWED_MAX_HEADER_BYTES", "-1", "expected a whole number"),
        ("QWED_NODE_NAME", "a/b", "expected up to 64 letters"),
        ("DOOM_LOOP_GUARD_REQUIRED", "2", "expected true or false"),
    ],
)
def test_an_invalid_value_is_answered_with_a_sentence_that_names_it(variable: str, text: str, why: str):
    (mistake,) = mistakes_of({variable: text})

    assert mistake.startswith(f"{variable}: ")
    assert why in mistake
    assert "hunter2" not in mistake
    assert len(mistake) < 300


@pytest.mark.parametrize("key", ["short", "has a space in it", "tab\tinside-it", "schlüssel-lang", "x" * 513])
def test_an_unusable_key_is_refused_without_being_shown(key: str):
    for variable in ("QWED_OPERATOR_KEY", "QWED_API_KEY"):
        (mistake,) = mistakes_of({variable: key})

        assert key not in mistake
        assert "visible ASCII" in mistake


@pytest.mark.parametrize(
    "key", ["change-me-to-a-long-random-key", "ChangeMe123456", "<your-operator-key>", "aaaaaaaaaaaa"]
)
def test_an_example_that_nobody_replaced_is_no_operator_key(key: str):
    (mistake,) = mistakes_of({"QWED_OPERATOR_KEY": key})

    assert key not in mistake
    assert "this is an example, not a key" in mistake


def test_a_short_operator_key_is_accepted_with_a_warning():
    settings = read_settings({"QWED_OPERATOR_KEY": "operator-key"})

    assert settings.operator_key is not None
    assert settings.operator_key.reveal() == "operator-key"
    assert "QWED_OPERATOR_KEY has fewer than 22 characters" in settings.warnings[0]


def test_secrets_are_in_no_representation():
    settings = read_settings({"QWED_OPERATOR_KEY": "very-secret-operator", "QWED_API_KEY": "very-secret-api"})

    assert "very-secret" not in f"{settings!r} {settings} {settings.api_key!s} {settings.api_key!r}"
    with pytest.raises(TypeError):
        msgspec.json.encode(settings)


def test_secrets_compare_by_their_text():
    assert Secret("a") == Secret("a")
    assert hash(Secret("a")) == hash(Secret("a"))
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert Secret("\ud800") != Secret("é")


def test_a_certificate_without_its_key_is_refused():
    assert mistakes_of({"QWED_TLS_CERT": "c.pem"}) == [
        "QWED_TLS_CERT and QWED_TLS_KEY belong together: set both or neither"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("qwed.db", Path("qwed.db")),
        ("/var/lib/qwed.db", Path("/var/lib/qwed.db")),
        (r"C:\data\qwed.db", Path(r"C:\data\qwed.db")),
        ("odd?name#.db", Path("odd?name#.db")),
        (":memory:", MEMORY),
        ("sqlite:///qwed.db", Path("qwed.db")),
        ("sqlite:////var/lib/qwed.db", Path("/var/lib/qwed.db")),
        ("SQLite:///with%20space%3F.db", Path("with space?.db")),
        ("sqlite://", MEMORY),
        ("sqlite:///", MEMORY),
        ("sqlite:///:memory:", MEMORY),
    ],
)
def test_a_database_is_a_path_or_a_sqlite_address(text: str, expected: object):
    assert parse_database(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a\0b",
        "sqlite://host/x.db",
        "sqlite:///x.db?mode=ro",
        "sqlite:///%00",
        "file:qwed.db",
        "File:x",
    ],
)
def test_a_database_that_is_neither_is_refused(text: str):
    with pytest.raises(ValueError, match=r"\w"):
        parse_database(text)


def test_keys_are_kept_beside_the_store_unless_told_otherwise():
    assert read_settings({"QWED_DATABASE": "/srv/data/q.db"}).data_dir == Path("/srv/data")
    assert read_settings({"QWED_DATABASE": ":memory:"}).data_dir == Path()


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/qwed/startup-trust.json"),
        ({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/qwed/startup-trust.json"),
        ({"QWED_DATABASE": "/srv/q.db"}, "/srv/startup-trust.json"),
    ],
)
def test_accepted_start_up_hooks_are_kept_in_the_persons_own_directory(
    environ: dict[str, str], expected: str
):
    assert read_settings(environ).startup_trust_file == Path(expected)


def test_every_setting_has_its_row_in_the_documentation():
    rows = re.findall(
        r"^\| `([A-Z_]+)` \| (.+) \| (.+) \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE
    )

    assert rows == [(setting.variable, setting.meaning, setting.default) for setting in SETTINGS]


def test_a_database_server_is_taken_and_its_password_never_shown():
    settings = read_settings({"QWED_DATABASE": "postgresql://u:hunter2@db:5433/qwed?sslmode=require"})

    assert isinstance(settings.database, PostgresUrl)
    assert settings.database.reveal() == "postgresql://u:hunter2@db:5433/qwed?sslmode=require"
    assert str(settings.database) == "postgresql://…@db:5433/qwed"
    assert "hunter2" not in repr(settings)


def test_several_workers_need_a_database_server():
    assert mistakes_of({"QWED_WORKERS": "2"}) == [
        "--workers above 1 need --database postgresql://…: a SQLite file has one owner"
    ]
    assert read_settings({"QWED_WORKERS": "2", "QWED_DATABASE": "postgresql://db/qwed"}).workers == 2


@pytest.mark.parametrize("text", ["0", "65", "-1", "two", "1.5"])
def test_a_number_of_workers_is_from_1_to_64(text):
    assert len(mistakes_of({"QWED_WORKERS": text})) == 1


def test_an_address_of_redis_is_a_secret_and_names_a_host():
    settings = read_settings({"QWED_REDIS": "redis://:hunter2@cache:6379/0"})

    assert settings.redis is not None and settings.redis.reveal() == "redis://:hunter2@cache:6379/0"
    assert "hunter2" not in repr(settings)
    (mistake,) = mistakes_of({"QWED_REDIS": "http://hunter2@cache"})
    assert "expected redis://" in mistake and "hunter2" not in mistake


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtps://mail.example", ("smtps", "mail.example", 465, None)),
        ("smtp://u%40x:p%3Aw@mail.example:2525", ("smtp", "mail.example", 2525, "u@x")),
        ("smtp+plain://127.0.0.1", ("smtp+plain", "127.0.0.1", 25, None)),
    ],
    ids=["tls", "starttls", "plain"],
)
def test_a_mail_server_is_read_from_its_address(url, expected):
    smtp = read_settings({"QWED_SMTP_URL": url}).smtp

    assert (smtp.scheme, smtp.host, smtp.port, smtp.user) == expected
    assert smtp.password is None or smtp.password.reveal() == "p:w"


@pytest.mark.parametrize(
    "url",
    [
        "mail.example",
        "http://mail.example",
        "smtp://",
        "smtp://u:verysecret@h/x",
        "smtp://u@h",
        "smtp://u:verysecret@h:99999",
        "smtp://[verysecret",
    ],
    ids=["bare", "http", "empty", "path", "half", "port", "bracket"],
)
def test_another_address_of_a_mail_server_is_refused_without_showing_it(url):
    with pytest.raises(SettingsError) as refused:
        read_settings({"QWED_SMTP_URL": url})

    assert "QWED_SMTP_URL" in str(refused.value) and "verysecret" not in str(refused.value)


@pytest.mark.parametrize("sender", ["qwed", "a@b\nBcc: x@y", "A <a@b>", "a@b,c@d"])
def test_a_sender_is_one_plain_address(sender):
    with pytest.raises(SettingsError):
        read_settings({"QWED_SMTP_FROM": sender})


def test_the_bounds_of_connections_are_settings_and_settings_are_bounds():
    settings = read_settings({"QWED_MAX_CONNECTIONS": "99", "QWED_HEADER_SECONDS": "3"})

    assert isinstance(settings, Bounds)
    assert (settings.max_connections, settings.header_seconds) == (99, 3)
    assert settings.max_header_bytes == Bounds().max_header_bytes


def test_the_addresses_of_a_proxy_need_one():
    environ = {"QWED_PROXY_ADDRESSES": "10.0.0.7, 2001:db8::/32"}

    assert "QWED_BEHIND_PROXY" in mistakes_of(environ)[0]
    networks = read_settings({**environ, "QWED_BEHIND_PROXY": "1"}).proxy_addresses
    assert [str(network) for network in networks] == ["10.0.0.7/32", "2001:db8::/32"]
    assert "expected addresses" in mistakes_of({"QWED_PROXY_ADDRESSES": "proxy", "QWED_BEHIND_PROXY": "1"})[0]
