"""Command lines of clouds and clusters: what they send there, whom they give rights, what they stop."""

import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.runner import UNREAD, Runner, Stream
from qwed.engines.code.shell.text_commands import Rule, rules

_REMOTE: Final = re.compile(r"[a-z][a-z0-9]*://|[\w-]+:(?!\\)")
_COPIES: Final = frozenset({"cp", "sync", "mv", "put", "rsync", "copy", "upload", "upload-batch", "mirror"})
# Somebody gets rights: a person decides.
_GIVES_RIGHTS: Final = frozenset(
    [
        *(
            "clusterrolebinding",
            "rolebinding",
            "add-iam-policy-binding",
            "set-iam-policy",
            "create-access-key",
        ),
        *(
            "attach-user-policy",
            "attach-role-policy",
            "attach-group-policy",
            "put-user-policy",
            "put-role-policy",
        ),
        *("add-user-to-group", "create-login-profile", "update-assume-role-policy", "create-policy-version"),
    ]
)
# The records of what happens there end.
_STOPS_RECORDS: Final = frozenset(
    [
        *(
            "stop-logging",
            "delete-trail",
            "delete-detector",
            "stop-configuration-recorder",
            "delete-flow-logs",
        ),
        *("delete-log-group", "delete-log-stream", "disable-security-hub", "delete-configuration-recorder"),
    ]
)
_BUYS: Final = frozenset({"run-instances", "request-spot-instances", "create-fleet", "run-task"})
_MANY: Final = 20


def judge_cloud(run: Runner, args: list[str], line: int) -> None:
    given = set(args)
    if _COPIES & given:
        _judge_copy(run, args, line)
    if (_GIVES_RIGHTS & given and not {"get", "list", "describe", "delete"} & given) or (
        "assignment" in given and "create" in given
    ):
        run.doubt("privilege", line)
    if _STOPS_RECORDS & given:
        run.harm("disables-protection", line)
    counts = [
        arg for index, arg in enumerate(args) if index and args[index - 1] in ("--count", "--min-count")
    ]
    if _BUYS & given and any(count.isdigit() and int(count[:9]) >= _MANY for count in counts):
        run.doubt("uses-up-the-machine", line)


def _judge_copy(run: Runner, args: list[str], line: int) -> None:
    """From here to there: what must stay does not go. Copies from there to here are downloads."""
    paths = [arg for arg in args if not arg.startswith("-") and arg not in _COPIES]
    if not paths or not any(_REMOTE.match(path) for path in paths[1:]):
        return
    for path in paths[:-1]:
        private = places.is_sensitive(path) or places.is_local_secret(path)
        if not _REMOTE.match(path) and (private or places.leaves_working_tree(path)):
            run.harm("exfiltration", line)


def store(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("network")
    judge_cloud(run, [words.plain(arg) for arg in argv[1:]], line)
    return UNREAD


COMMANDS: Final[dict[str, Rule]] = rules("gsutil s3cmd s5cmd mc azcopy b2 oci ibmcloud aliyun", store)
