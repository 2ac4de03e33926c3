"""Commands that delete, overwrite, take over, stay behind or switch protection off."""

import itertools
import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.harmless_looks import only_looks
from qwed.engines.code.shell.machine import BELOW
from qwed.engines.code.shell.redirects import file_marks
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.text_commands import SETS_ID, Rule, from_here, leaves_traces, rules
from qwed.engines.code.shell.words import HOLE


def remove(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("file-delete")
    args = [words.plain(arg) for arg in argv[1:]]
    flags = "".join(arg[1:] for arg in args if re.match(r"^-[A-Za-z]", arg))
    recursive = "r" in flags or "R" in flags or "--recursive" in args
    if "--no-preserve-root" in args:
        run.harm("destructive-command", line)
    for target in args:
        if not target.startswith("-"):
            _judge_removal(run, from_here(run, target), line, recursive=recursive)
    return EMPTY


def _judge_removal(run: Runner, target: str, line: int, *, recursive: bool) -> None:
    if target.startswith(HOLE):
        if recursive:
            run.doubt("deletes-unknown-tree", line)
        return
    known = target.replace(HOLE, "x")
    if leaves_traces(known):
        run.harm("covers-tracks", line)
    whole = places.is_whole_tree(target) and (recursive or "*" in target)
    precious = (
        places.is_persistent(known) or places.is_sensitive(known) or re.search(r"(?:^|/)\.git/?$", known)
    )
    if whole or precious or places.leaves_working_tree(known):
        run.harm("destructive-command", line)


def destroy(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    args = [words.plain(arg) for arg in argv[1:]]
    if argv[0] == "wevtutil" or any(map(leaves_traces, args)):
        run.harm("covers-tracks", line)
    if not only_looks(argv[0], args):
        run.harm("destructive-command", line)
    return EMPTY


def copy_blocks(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.update({"file-read", "file-write"})
    marks = stdin.marks
    for arg in map(words.plain, argv[1:]):
        key, _, value = arg.partition("=")
        if key == "of":
            run.judge.write(run, value, line, UNREAD)
        elif key == "if" and "endless" in file_marks(value):
            _judge_amount(run, argv[1:], line)
        elif key == "if":
            marks |= file_marks(value)
            if places.is_block_device(value):
                run.harm("reads-sensitive-file", line)
    return Stream(None, marks)


_SIZE: Final = re.compile(r"(?:.*=)?(\d{1,18})([kKMGTPEZY]?)(?:i?B)?")
_UNITS: Final = {unit: 1024**power for power, unit in enumerate(" KMGTPEZY")} | {"": 1, "k": 1024}
_TOO_MUCH: Final = 1024**4


def _judge_amount(run: Runner, args: list[str], line: int) -> None:
    """What `dd` copies from a source without an end: nothing but `count` ends it."""
    given = dict(words.plain(arg).partition("=")[::2] for arg in args)
    if "of" in given and "count" not in given:
        run.harm("uses-up-the-machine", line)
    elif _size_of(given.get("bs", "512")) * _size_of(given.get("count", "1")) >= _TOO_MUCH:
        run.doubt("uses-up-the-machine", line)


def _size_of(text: str) -> int:
    found = _SIZE.fullmatch(text)
    return int(found[1]) * _UNITS[found[2]] if found else 1


def reserve(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`fallocate -l 100T`, `truncate -s 100T`."""
    if any(_size_of(words.plain(arg)) >= _TOO_MUCH for arg in argv[1:]):
        run.doubt("uses-up-the-machine", line)
    return truncate(run, argv, stdin, line)


def truncate(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("file-write")
    for arg in map(words.plain, argv[1:]):
        if "/" in arg or arg.startswith("~"):
            run.judge.write(run, arg, line, EMPTY)
            if places.leaves_working_tree(from_here(run, arg)):
                run.harm("destructive-command", line)
    return EMPTY


_WORLD_WRITABLE: Final = re.compile(r"[0-7]{0,3}[2367]|(?:[ug]*[oa][ugoa]*|)[+=][rx]*w[rwxX]*")


def change_mode(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("file-write")
    args = [words.plain(arg) for arg in argv[1:]]
    recursive = any(re.match(r"^-\w*R", arg) or arg == "--recursive" for arg in args)
    rest = [arg for arg in args if not re.match(r"^-[A-Za-z-]", arg) or re.match(r"^-[rwxs]+$", arg)]
    mode, targets = (rest[0], rest[1:]) if rest else ("", [])
    if SETS_ID.fullmatch(mode) and mode not in ("2775", "2755"):
        run.harm("privilege", line)
    elif _WORLD_WRITABLE.fullmatch(mode) and not mode.startswith(("+", "=")):
        run.harm("permissions", line)
    for target in targets:
        where = from_here(run, target)
        if (
            places.is_system(where) and not where.startswith(("/home/", "/Users/", "/opt/", "/srv/", "/mnt/"))
        ) or (recursive and where in ("~", "~/")):
            run.harm("permissions", line)
    return EMPTY


def change_owner(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("file-write")
    rest = [words.plain(arg) for arg in argv[1:] if not arg.startswith("-")]
    if rest[:1] and rest[0].partition(":")[0] == "root":
        run.harm("privilege", line)
    for target in rest[1:]:
        if places.leaves_working_tree(from_here(run, target)):
            run.harm("permissions", line)
    return EMPTY


def kill(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("process")
    args = [words.plain(arg) for arg in argv[1:]]
    targets = args[1:] if args and args[0].startswith("-") and args[0] != "--" else args
    if any(target in ("-1", "1") for target in targets):
        run.harm("destructive-command", line)
    if "watchman" in run.word_marks:
        run.harm("disables-protection", line)
    return EMPTY


# They record what happens, and keep others out.
_WATCHES: Final = re.compile(
    r"(?:auditd|r?syslogd?|rsyslogd?|systemd-journald|journald|firewalld|fail2ban\S*|clam\w*|ossec\S*|falco|wazuh\S*"
    r"|(?:\S*/)?qwed\b.*|apparmor|ufw|osqueryd|crowdstrike\S*|falcon-sensor|sysmon|auditbeat|filebeat)(?:\.service)?$"
)
_KEEPS_RUNNING: Final = re.compile(
    r"(?:init|systemd\w*|sshd?|dbus\S*|auditd|r?syslogd?|rsyslogd|cron(?:d)?|docker(?:d)?|containerd"
    r"|kubelet|firewalld|"
    r"fail2ban\S*|clamd|ossec\S*|falco|wazuh\S*|NetworkManager|udevd|login|getty)$"
)


def kill_by_name(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Ending what the machine, or its watchmen, live by."""
    run.report.effects.add("process")
    args = [words.plain(arg) for arg in argv[1:]]
    names = [arg for arg in args if not arg.startswith("-")]
    if len(names) == 1 and any(
        pair == (option, names[0])
        for pair in itertools.pairwise(args)
        for option in ("-u", "-U", "--user", "--euid")
    ):
        # Everything that somebody runs.
        run.harm("destructive-command", line)
    of_root = any(arg in ("-u", "-U", "--user", "--euid") for arg in args) and "root" in names
    if any(_WATCHES.match(name) for name in names):
        run.harm("disables-protection", line)
    if of_root or "." in names or any(_KEEPS_RUNNING.match(name) for name in names):
        run.harm("destructive-command", line)
    return EMPTY


# These show or keep what a file holds, wherever it lies; messages and patterns of the others are no files.
_NAMES_FILES: Final = frozenset({"ls-files", "--name-only"})
_GIT_READS: Final = frozenset({"hash-object", "diff", "add", "apply", "blame", "show", "cat-file"})


def find_running(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """What `kill` is given: a watchman of the machine has a mark."""
    is_watchman = any(_WATCHES.match(words.plain(arg)) for arg in argv[1:])
    return Stream(None, frozenset({"watchman"}) if is_watchman else frozenset())


_GIT_REWRITES: Final = frozenset({"--force", "-f", "--mirror", "--delete", "-d", "--force-with-lease"})


def git(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("process")
    args = [words.plain(arg) for arg in argv[1:]]
    if "push" in args and (_GIT_REWRITES & set(args) or any(arg.startswith("+") for arg in args)):
        run.doubt("rewrites-shared-history", line)
    if _GIT_READS & set(args[:3]) and any(map(places.is_sensitive, args)):
        run.harm("reads-sensitive-file", line)
    if args[:1] and args[0] in ("clone", "fetch", "pull", "push"):
        run.report.effects.add("network")
    return Stream(None, frozenset({BELOW})) if _NAMES_FILES & set(args) else UNREAD


_EMPTIES: Final = re.compile(
    r"(?i)\btruncate\s+[\w.\"`]+|\bdelete\s+from\s+[\w.\"`]{1,100}\s*(?:;|[\"']|$)|\bdeleteMany\(\s*(?:\{\s*\})?\s*\)|\.drop\(\s*\)",
    re.M,
)


def database(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("database")
    text = " ".join(map(words.plain, argv[1:])) + "\n" + (stdin.text or "")
    if places.destroys_tables(text):
        run.harm("destructive-command", line)
    elif _EMPTIES.search(text):
        run.doubt("destructive-command", line)
    return Stream(None, stdin.marks)


def crontab(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    if "-l" not in argv[1:]:
        run.harm("persistence", line)
    return EMPTY


_SERVICE_VERBS: Final = {
    **dict.fromkeys(("enable", "link", "edit", "set-default", "load", "bootstrap", "submit"), "persistence"),
    **dict.fromkeys(("poweroff", "reboot", "halt", "emergency", "rescue", "isolate"), "destructive-command"),
    **dict.fromkeys(("stop", "disable", "mask", "kill", "restart", "start", "unload"), "system-service"),
}


def services(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    args = [words.plain(arg) for arg in argv[1:]]
    if {"stop", "disable", "mask", "kill"} & set(args) and any(map(_WATCHES.match, args)):
        run.harm("disables-protection", line)
    verb = next((arg for arg in args if arg in _SERVICE_VERBS), None)
    # What a user starts and stops is the user's own.
    if verb is not None and not ("--user" in args and _SERVICE_VERBS[verb] == "system-service"):
        run.harm(_SERVICE_VERBS[verb], line)
    return UNREAD


def linger(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    if "enable-linger" in argv[1:]:
        run.harm("persistence", line)
    return UNREAD


def add_user(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.harm("persistence", line)
    return take_over(run, argv, stdin, line)


def mine(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.harm("mines-currency", line)
    return UNREAD


def strain(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("process")
    run.doubt("uses-up-the-machine", line)
    return UNREAD


def stay_behind(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.harm("persistence", line)
    return EMPTY


def take_over(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    args = [words.plain(arg) for arg in argv[1:]]
    if not only_looks(argv[0], args):
        run.harm("privilege", line)
    return EMPTY


_NETWORK_CHANGES: Final = frozenset(
    {"add", "del", "delete", "set", "flush", "change", "replace", "down", "up"}
)


def network_settings(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    if _NETWORK_CHANGES & {words.plain(arg) for arg in argv[1:]}:
        run.harm("privilege", line)
    return UNREAD


def protection(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    if not only_looks(argv[0], [words.plain(arg) for arg in argv[1:]]):
        run.harm("disables-protection", line)
    return UNREAD


COMMANDS: Final[dict[str, Rule]] = {
    **rules("rm rmdir unlink", remove),
    **rules("wipefs fdisk sfdisk gdisk parted mkswap lvremove vgremove pvremove blkdiscard", destroy),
    **rules("hdparm badblocks debugfs mdadm cryptsetup shutdown reboot halt poweroff init", destroy),
    **rules("telinit killall5 shred srm wipe mkfs format diskpart vssadmin bcdedit wevtutil", destroy),
    "dd": copy_blocks,
    **rules("truncate fallocate", reserve),
    "chmod": change_mode,
    **rules("chown chgrp", change_owner),
    "kill": kill,
    **rules("killall pkill skill", kill_by_name),
    **rules("pgrep pidof", find_running),
    "git": git,
    **rules("mysql psql sqlite3 mongo mongosh redis-cli mariadb sqlcmd", database),
    "crontab": crontab,
    **rules("systemctl service launchctl rc-service", services),
    **rules("schtasks at batch systemd-run update-rc.d chkconfig ssh-copy-id rc-update", stay_behind),
    **rules("useradd adduser newusers", add_user),
    "loginctl": linger,
    **rules("xmrig minerd cpuminer ethminer cgminer bfgminer nbminer lolminer xmr-stak phoenixminer", mine),
    **rules("stress stress-ng", strain),
    **rules("usermod userdel deluser groupadd gpasswd passwd chpasswd visudo", take_over),
    **rules("setfacl gcore", take_over),
    **rules("ip route ifconfig brctl nmcli", network_settings),
    **rules(
        "vipw chsh chage setcap insmod modprobe rmmod kexec sysctl mount umount swapon swapoff", take_over
    ),
    **rules("iptables ip6tables nft ufw setenforce auditctl firewall-cmd apparmor_parser", protection),
    **rules("pfctl spctl csrutil", protection),
}
