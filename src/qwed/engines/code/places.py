"""Files and addresses whose very use tells what a program is after, the same for every language."""

import functools
import re
from typing import Final

from qwed.engines.sensitive_places import find_credentials, is_own_secret

_SENSITIVE: Final = re.compile(
    r"""
      ^/etc/(?:shadow|gshadow|sudoers|passwd-?|master\.passwd|security/|ssl/private|ssh/ssh_host|krb5\.keytab)
    | ^/proc/(?:self|\d+|x|\$\w+|[^/]*[*?\[][^/]*)/(?:task/[^/]+/)?(?:environ|mem|maps|cmdline|fd/)
    | ^/(?:dev/(?:mem|kmem|port)|proc/kcore|proc/sysrq-trigger)$
    | ^/(?:root|var/lib/cloud|run/secrets|var/run/secrets|var/run/docker\.sock|run/docker\.sock)(?:/|$)
    | (?:^|/)Cookies$
    | (?:^|/)\.config/qwed/hooks/[^/]*\.settings$
    """,
    re.VERBOSE | re.IGNORECASE,
)
# What programs read all day of the folders that hold credentials, too.
_MAY_BE_READ: Final = re.compile(
    r"(?:^|/)\.ssh/(?:config|known_hosts)$|(?:^|/)\.docker/(?!config\.json)|(?:^|/)\.kube/(?!config)"
    r"|(?:^|/)\.(?:aws|azure|docker|kube)/?$|(?:^|/)\.git/config$",
    re.IGNORECASE,
)
_PERSISTENT: Final = re.compile(
    r"""
      (?:^|/)\.ssh/(?:authorized_keys|config|rc) | (?:^|/)authorized_keys$
    | (?:^|/)\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile)$
    | (?:^|/)\.(?:xinitrc|xprofile|kshrc|cshrc|vimrc)$
    | ^/etc/(?:cron|profile|rc\.|init|systemd|pam\.d|ld\.so|sudoers|bash\.bashrc|environment|modules)
    | ^/etc/(?:xdg/autostart|update-motd\.d|hosts$|resolv\.conf$)
    | ^/var/spool/(?:cron|at) | ^/(?:usr/)?(?:lib|local/lib)/systemd
    | (?:^|/)\.config/(?:systemd|autostart)(?:/|$) | (?:^|/)Library/Launch(?:Agents|Daemons)
    | (?:^|/)(?:sitecustomize|usercustomize)\.py$ | site-packages/[^/]*\.pth$
    | (?:^|/)\.git/(?:hooks/|(?:modules/.+/)?config$) | \\Start\ Menu\\Programs\\Startup
    """,
    re.VERBOSE | re.IGNORECASE,
)
_RIGHTS: Final = re.compile(r"^/etc/(?:sudoers|passwd|shadow|group|gshadow|pam\.d|polkit-1|doas\.conf)")
_TRACE: Final = re.compile(
    r"^/(?:var|run)/log(?:/|$)|(?:^|/)\.(?:\w+_history|history|lesshst|viminfo)$|(?:^|/)(?:wtmp|utmp|btmp|lastlog)$"
)
_SYSTEM: Final = re.compile(
    r"^/(?:bin|boot|dev|etc|lib|lib32|lib64|opt|proc|root|run|sbin|srv|sys|usr|var|home|Users|System|Library|Applications|mnt|media)(?:/|$)"
    r"|^[A-Za-z]:[\\/]",
)
_SCRATCH: Final = re.compile(r"^/(?:tmp|var/tmp|dev/(?:shm|null|stdout|stderr|stdin|tty|fd))(?:/|$)")
_BLOCK_DEVICE: Final = re.compile(
    r"^/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper/|md\d|dm-|loop\d|ram\d|r?disk\d)"
)
_ENVIRONMENT_FILE: Final = re.compile(r"\.env(?:\.(?!(?:example|sample|template|dist|defaults?)$)[\w-]+)?")
_METADATA_HOST: Final = re.compile(
    r"^https?://(?:169\.254\.169\.254|metadata(?:\.google\.internal)?|100\.100\.100\.200|\[?fd00:ec2::254)",
    re.I,
)


_CACHED_LENGTH: Final = 128
_CACHE_SIZE: Final = 4_096


def normal_path(path: str) -> str:
    """The path without doubled slashes and `.` members, `..` resolved by name."""
    if not path:
        return path
    kept: list[str] = []
    for member in path.split("/"):
        if member in ("", "."):
            continue
        if member == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif member != ".." or not path.startswith("/"):
            kept.append(member)
    return ("/" if path.startswith("/") else "") + "/".join(kept) or "."


def is_sensitive(path: str) -> bool:
    """Credentials, keys and system secrets: reading them is harm already."""
    return _is_known_sensitive(path) if len(path) <= _CACHED_LENGTH else _is_sensitive(path)


def _is_sensitive(path: str) -> bool:
    normal = normal_path(path)
    if _SENSITIVE.search(normal) is not None:
        return True
    return _MAY_BE_READ.search(normal) is None and find_credentials(normal.lower().split("/")) is not None


# Every argument of every command is asked about, and most are the same few.
_is_known_sensitive = functools.lru_cache(_CACHE_SIZE)(_is_sensitive)


def is_local_secret(path: str) -> bool:
    """A secret of the project itself: it may be read, and must not leave."""
    name = path.rpartition("/")[2].lower()
    return _ENVIRONMENT_FILE.fullmatch(name) is not None or is_own_secret(name)


def is_persistent(path: str) -> bool:
    """Files that something else runs later."""
    return _PERSISTENT.search(normal_path(path)) is not None


def gives_rights(path: str) -> bool:
    """Files that say who may do what on the machine."""
    return _RIGHTS.match(normal_path(path)) is not None


def is_trace(path: str) -> bool:
    """What the machine or a shell wrote down about what was done."""
    return _TRACE.search(normal_path(path)) is not None


def is_block_device(path: str) -> bool:
    return _BLOCK_DEVICE.match(path) is not None


def is_scratch(path: str) -> bool:
    return _SCRATCH.match(normal_path(path)) is not None


def is_system(path: str) -> bool:
    """Below a directory that belongs to the machine or to its users, scratch space apart."""
    normal = normal_path(path)
    return normal == "/" or (_SYSTEM.match(normal) is not None and not is_scratch(normal))


def leaves_working_tree(path: str) -> bool:
    """Absolute (scratch space apart), in somebody's home, or climbing out."""
    if path.startswith(("~", "$HOME", "${HOME}")):
        return True
    normal = normal_path(path)
    if normal.startswith("/") or re.match(r"[A-Za-z]:[\\/]", normal):
        return not is_scratch(normal) or normal in ("/tmp", "/var/tmp")  # noqa: S108 - names, not used as files
    return normal == ".." or normal.startswith("../")


def is_whole_tree(path: str) -> bool:
    """The root, a home, the working tree itself or everything in one of them."""
    bare = path.rstrip("*") if path.endswith(("/*", "~*")) or path == "*" else path
    normal = normal_path(bare or ".")
    return (
        normal in ("/", ".", "..", "~")
        or bare.rstrip("/") in ("~", "$HOME", "")
        or normal.startswith("../..")
    )


_DROPS: Final = re.compile(
    r"\b(?:drop\s+(?:database|table|schema|user)|truncate\s+table|flushall|flushdb)\b|dropDatabase\s*\(", re.I
)
_MINING_POOL: Final = re.compile(
    r"stratum[\w+]{0,8}://|[^\n]{0,200}\"mining\.(?:subscribe|authorize|submit)\"", re.I
)


def destroys_tables(statement: str) -> bool:
    """A statement or command that does away with a whole table or database."""
    return _DROPS.search(statement) is not None


def is_mining_pool(address: str) -> bool:
    return _MINING_POOL.match(address) is not None


def is_metadata_service(url: str) -> bool:
    """The address that hands out a cloud machine's credentials."""
    return _METADATA_HOST.match(url) is not None
