"""Containers and clusters: what runs in them, what they are given of the machine, and what they show."""

import re
from typing import Final

from qwed.engines.code.shell import words
from qwed.engines.code.shell.clouds import judge_cloud
from qwed.engines.code.shell.reach import SHOWS_SECRET
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.text_commands import SECRET_WORDS, Rule, rules
from qwed.engines.code.shell.words import HOLE

_DELETING: Final = frozenset(
    [
        "delete",
        "destroy",
        "terminate-instances",
        "prune",
        "rb",
        "drain",
        "delete-bucket",
        "delete-stack",
        "rm",
    ]
)
_HOST_MOUNT: Final = re.compile(
    r"^(?:/|/etc|/root|/var/run/docker\.sock|/proc|/sys)/?(?::|$)|.*source=/(?:,|$)"
)


def infrastructure(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """What reaches a cluster or cloud: deleting there is for a person to decide."""
    run.report.effects.update({"process", "network"})
    args = [words.plain(arg) for arg in argv[1:]]
    local = argv[0] in ("docker", "podman", "nerdctl")
    judge_cloud(run, args, line)
    if _DELETING & set(args) and not (local and "prune" not in args):
        run.doubt("deletes-shared-resources", line)
    if local and (
        ("down" in args and {"-v", "--volumes"} & set(args))
        or ("rm" in args and any(HOLE in arg for arg in args))
    ):
        run.doubt("deletes-shared-resources", line)
    if "exec" in args or (local and "run" in args):
        _run_inside(run, args, line)
    if local:
        _judge_shown(run, args, line)
        mounts = [
            args[index + 1] for index, arg in enumerate(args[:-1]) if arg in ("-v", "--volume", "--mount")
        ]
        mounts += [arg.partition("=")[2] for arg in args if arg.startswith(("--volume=", "--mount="))]
        privileged = {"--privileged", "--pid=host"} & set(args)
        if privileged or any(_HOST_MOUNT.match(mount) for mount in mounts):
            run.harm("privilege", line)
    return Stream(None, _SETTINGS) if local and {"inspect", "config"} & set(args) else UNREAD


# What a container is started with: names, ports, and the passwords in its environment.
_SETTINGS: Final = frozenset({"environment", "settings"})
_SHOWS_ENVIRONMENT: Final = re.compile(r"\{\{[^}]*(?:\.Env\b|\bjson\s+\.(?:Config)?\s*\})")


def _judge_shown(run: Runner, args: list[str], line: int) -> None:
    """The environment of a container, by a template or by a program in it."""
    if "inspect" in args and any(map(_SHOWS_ENVIRONMENT.search, args)):
        run.reach(SHOWS_SECRET, line)
    if "exec" not in args:
        return
    for index, arg in enumerate(args):
        if (arg == "env" and index + 1 == len(args)) or (arg == "printenv" and _tells(args[index + 1 :])):
            run.reach(SHOWS_SECRET, line)


def _tells(names: list[str]) -> bool:
    return not names or any(map(SECRET_WORDS.search, names))


_INSIDE: Final = re.compile(
    r"(?:/\S*/)?(?:\w*sh|python[\d.]*|node|perl|ruby|rm|dd|mkfs\S*|shred|find|cat|curl|wget|nc|psql|mysql|mariadb|mongosh?|redis-cli)$"
)


def _run_inside(run: Runner, args: list[str], line: int) -> None:
    """What runs in a container: a shell there is anybody's, a command is judged as if it ran here."""
    begin = args.index("--") + 1 if "--" in args else 0
    rest = args[begin:]
    for index, arg in enumerate(rest):
        if (index or begin) and _INSIDE.fullmatch(arg):
            if arg.endswith("sh") and "-c" not in rest[index + 1 : index + 3]:
                run.doubt("runs-text", line)
            else:
                run.execute(rest[index:], EMPTY, line)
            return


COMMANDS: Final[dict[str, Rule]] = {
    **rules(
        "kubectl terraform aws gcloud az docker podman nerdctl crictl ctr lxc helm heroku doctl pulumi",
        infrastructure,
    ),
}
