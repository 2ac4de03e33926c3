"""Whether a command shows itself: most command names are words of English, of products or of other languages.

`make dinner` and `batch = 32` name commands and run nothing. Where a text may be anything, a known command
counts only where its operands make sense for it.
"""

import re
from typing import Final

from qwed.engines.code.shell import words
from qwed.engines.code.shell.words import HOLE

# Command names that stand in sentences, menus and programs: they count with an option, a path or a file.
_WORDS: Final = frozenset(
    """
    act age alias ant apply apropos apt arc architect astro at atlas atom auto ava babel banner base bash
    bat batch beats bind black blender bore break brew buck buf builtin bun bundle cal calc cap cargo case
    cast cat cheat chef chisel clear cmatrix code coffee column comm command compress conan continue convert
    copier coverage cowsay cross curl cut cypress dart dash date declare delta deploy diff dig dirs disown
    dive doas dog done draft drone dump dune dust ed edit elm enable env eval evince ex exec exit expand
    expect expo export express fab factor false fast fastly fc fd feh fetch fg file find finger fish fix flask
    flow flower flux fly fmt fold foreman forever forge format fortune fossil free from ftp function functions
    garden gem getent git glow go goose goss gource groups grunt gulp halt hash hatch head helix help hive
    host hostname hub hug hugo hurl id img import indent info init inspec install invoke ionic jasmine
    java jekyll jest jobs join juju julia just karma keystone kill kind kitchen kite knife last less let
    lima link links lint lit local locale locate locust logger logout look ls lua mage mail make man mark
    meld meson meteor micro migrate mill mint mise mix mocha molecule more most mount move multipass nano
    nc nest newman next nice nikola ninja node nomad nose now nuxt octant octave open pack packer pants
    parallel parcel pass passwd paste patch percy perf perl php pick pico pine ping play poetry polaris
    popeye port postman pr preexec prefect premake print prism procs prometheus ptx puppet pure pushd
    python python2 python3 rails railway rake rancher read readonly reboot redocly reek remix rename
    render renice repo reset responder restart restic return rev rich route row ruby run runlevel safety
    sails salt sam say scala scale schedule scoop scour screen script security sed see select semgrep
    serve server serverless service set sh shake shift shred shuf shutdown size skaffold sl sleep snap
    solr sort source spack spectral spell split spring stack standard start stat static step stop
    storybook strings strip stripe stylus su sudo sum surge suspend swift swipe tabs tail tap task tasks
    tea tee telegraf telepresence test tiger tilt time timeout times toe top touch tower tox trace track
    trap travis tree true truncate trunk tsort turbo twine type typos umask units unset up uptime usage
    users vagrant vale vault vector vegeta velero vi view visidata vite volta wait wall watch watchman
    wave waypoint wc wget what whatis where which who whoami wipe worker write yard yes zip zola
    """.split()  # noqa: SIM905 - a table reads better as one
)
# Programs that do something only with one of these words behind them.
_VERBS: Final = {
    "git": """
        add am apply bisect branch checkout cherry-pick clean clone commit config fetch gc init merge mv pull
        push rebase remote reset restore revert rm stash submodule switch tag worktree filter-branch
    """,
    "docker podman nerdctl": """
        attach build buildx commit compose container cp create exec export image images import kill load login
        logout network pause pull push rename restart rm rmi run save start stop swarm system tag unpause
        update volume prune
    """,
    "kubectl oc": """
        annotate apply autoscale cordon cp create debug delete drain edit exec expose label patch port-forward
        replace rollout run scale set taint uncordon
    """,
    "npm pnpm yarn bun": """
        add audit build ci create dedupe exec i init install link login prune publish rebuild remove run start
        test uninstall unlink update upgrade version dev
    """,
    "pip pip3 pipx uv conda mamba gem cargo poetry apt apt-get dnf yum brew apk snap flatpak": """
        add build bench clean create download fix fmt install purge publish push reinstall remove run search
        sync test uninstall uninject update upgrade wheel dist-upgrade full-upgrade autoremove
    """,
    "go": "build clean env fix fmt generate get install mod run test tool vet work",
    "make gmake": "all build check clean deploy dist install lint release run start stop test up down",
    "terraform tofu pulumi": "apply destroy import init refresh state taint untaint up workspace",
    "helm": "create delete install push rollback uninstall upgrade",
    "systemctl service launchctl": """
        disable edit enable halt isolate kill link load mask poweroff reboot reload restart set-default start
        stop unload unmask
    """,
}
_SUBCOMMANDS: Final = {
    name: frozenset(verbs.split()) for names, verbs in _VERBS.items() for name in names.split()
}
# They go through their operands one by one: one that makes no sense does not save the next.
_TAKES_EACH: Final = frozenset(
    [
        "rm",
        "rmdir",
        "unlink",
        "shred",
        "chmod",
        "chown",
        "chgrp",
        "kill",
        "touch",
        "mkdir",
        "truncate",
        "tee",
        "srm",
    ]
)
_PROSE: Final = frozenset(
    """
    a about after again all also am an and any are as at back base be because been before best but by can
    could did do does down each either every few for from get good great had has have he her here him his
    how i if in into is it its like me more most must my near need never new no not now of off old on once
    one only or our out over own per please really she should since so some soon such than that the their
    them then there these they this those through to today tomorrow too until up us very was we were what
    when where which while who why will with without would yes yet you your
    """.split()  # noqa: SIM905 - a table reads better as one
)
_ASSIGNS: Final = re.compile(r"[-+*/%&|^:<>!=]?=|=>|:")
_HARD: Final = re.compile(
    r"[a-z][a-z0-9+.]*://|-{1,2}[A-Za-z][\w-]*(?:=|$)|-\d$|(?:~|\.{1,2})?/[\w.~*]|/$|~$|\*$|[\w.-]+=\S"
)
_SOFT: Final = re.compile(
    r"[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,9}|\d+(?:\.\d+){3}|\.[A-Za-z][\w.-]+|[\w.-]+(?:/[\w.*-]+)+/?|\d{2,}|%\d+|\S*\*\S*"
)
_PLAIN_WORD: Final = re.compile(r"[A-Za-z]+[,.;:!?]?")
# No noun begins with these, so plain words behind them are files, users and processes.
_NO_NOUNS: Final = frozenset(
    """
    rm rmdir srm mkdir cp mv ln scp dd chmod chown chgrp chattr killall pkill xkill userdel deluser groupdel
    delgroup usermod gpasswd chpasswd groupmod vipw chsh lvremove vgremove pvremove
    sgdisk setenforce setfacl dropdb dropuser createdb createuser rmmod insmod modprobe swapoff umount
    mkfs wipefs fdisk sfdisk echo printf
    """.split()  # noqa: SIM905 - a table reads better as one
)
_INSTALLERS: Final = frozenset(
    {"pip", "pip3", "pipx", "npm", "pnpm", "apt", "apt-get", "dnf", "yum", "brew", "apk"}
)
_INSTALLS: Final = frozenset({"install", "uninstall", "remove", "purge"})
# `npm install errors`: how these words go on, no package does that people install by a plain name.
_BESIDE_AN_INSTALL: Final = (
    *("fail", "error", "instruct", "guide", "issue", "problem", "command", "step", "log", "script", "hook"),
    *("time", "note", "doc", "help", "option", "method", "process", "path", "warn", "location", "director"),
    *("count", "trend", "stat", "rate", "job", "task", "flag", "hang", "crash", "bug", "ticket", "question"),
    *(
        "success",
        "work",
        "break",
        "broke",
        "took",
        "take",
        "size",
        "cache",
        "speed",
        "order",
        "date",
        "policy",
    ),
)
_RUNS: Final = frozenset({"run", "exec"})
_REMOTES: Final = frozenset({"origin", "upstream"})
_ADDS_AN_ACCOUNT: Final = frozenset({"useradd", "adduser", "groupadd", "addgroup"})
# The tools whose names mean nothing else, and what they do that nobody takes back.
_RULERS: Final = frozenset(
    """
    kubectl oc terraform tofu pulumi systemctl launchctl helm redis-cli ufw zpool zfs
    """.split()  # noqa: SIM905 - a table reads better as one
)
_RUINS: Final = frozenset(
    """
    delete destroy disable drain halt kill mask poweroff reboot stop uninstall rollback flushall
    flushdb shutdown reset
    """.split()  # noqa: SIM905 - a table reads better as one
)
_CLEARS: Final = frozenset({"rm", "rmi", "prune"})
# Their verbs stand behind what they are about: `gcloud projects delete prod`.
_CLOUDS: Final = frozenset(
    {"gcloud", "aws", "az", "doctl", "linode-cli", "ibmcloud", "oci", "heroku", "flyctl"}
)
_TEARS_DOWN: Final = frozenset({"delete", "destroy", "terminate", "purge", "remove"})
_STARTS_ANOTHER: Final = frozenset({"sudo", "doas", "time", "exec", "command", "nice"})
# `sudo su -`: no sentence goes on like this.
_MASTERS: Final = frozenset(
    {"su", "sh", "bash", "zsh", "dash", "reboot", "shutdown", "halt", "poweroff", "passwd", "visudo"}
)
_STOPS: Final = frozenset({"reboot", "shutdown", "halt", "poweroff"})
_RUN_LEVEL: Final = re.compile(r"[0-6sS]")
_EVALUATES: Final = frozenset({"eval", "source", "exec"})
_NEEDS_TWO: Final = frozenset({"chmod", "chown", "chgrp", "cp", "mv", "ln", "scp", "rsync", "dd"})
_NEEDS_A_NAME_SET: Final = frozenset({"let", "export", "declare", "local", "readonly", "typeset", "alias"})


def shows_itself(name: str, args: list[str]) -> bool:
    """Whether this is a command line, and not a sentence or a program that begins like one."""
    given = [words.plain(arg) for arg in args]
    if not given:
        return False
    hard = any(_HARD.match(arg) for arg in given)
    if _changes_run_level(name, given):
        return True
    if _ASSIGNS.fullmatch(given[0]):
        return hard and name in _TAKES_EACH
    if name in _NEEDS_A_NAME_SET:
        return any(re.match(r"\w+=", arg) for arg in given)
    if name in _STARTS_ANOTHER and given[0] in _SUBCOMMANDS:
        return shows_itself(given[0], args[1:])
    if name in _STARTS_ANOTHER and given[0] in _MASTERS:
        return True
    if name in _EVALUATES and any(HOLE in arg for arg in args):
        return True
    if all(_PLAIN_WORD.fullmatch(arg) for arg in given) and not _is_order(name, given):
        return False
    prose = any(arg.lower().strip(",.;:!?") in _PROSE for arg in given)
    if name in _SUBCOMMANDS:
        verb = next((arg for arg in given if not arg.startswith("-")), "")
        return verb in _SUBCOMMANDS[name] and (hard or not prose)
    if name in _NEEDS_TWO and len(given) < 2:
        return False
    if name in _WORDS:
        return hard or (not prose and all(_SOFT.fullmatch(arg) for arg in given))
    return hard or not prose


def _changes_run_level(name: str, given: list[str]) -> bool:
    if name in ("init", "telinit"):
        return len(given) == 1 and _RUN_LEVEL.fullmatch(given[0]) is not None
    return name == "shutdown" and given == ["now"]


def stops_machine(name: str) -> bool:
    return name in _STOPS


def is_word(name: str) -> bool:
    """Whether the name of this command stands in sentences, or does nothing without a verb."""
    return name in _WORDS or name in _SUBCOMMANDS


def _is_order(name: str, given: list[str]) -> bool:
    """`git commit history` and `crontab entries` are nouns as well; `rm notes` is nothing but a command."""
    if name in _SUBCOMMANDS and (len(given) == 1 or given[0] in _RUNS or _REMOTES & set(given)):
        return True
    if name in _INSTALLERS and given[0] in _INSTALLS:
        return len(given) == 2 and not given[1].lower().startswith(_BESIDE_AN_INSTALL)
    if name in _ADDS_AN_ACCOUNT:
        return len(given) == 1 and not given[0].lower().startswith((*_BESIDE_AN_INSTALL, "request", "event"))
    if name in ("docker", "podman"):
        return given[0] in _CLEARS
    if name in _CLOUDS and not _TEARS_DOWN.isdisjoint(given[1:-1]):
        return True
    return name in _NO_NOUNS or (name in _RULERS and given[0] in _RUINS)
