"""File paths: climbing, sensitive and foreign ones in every disguise, and the ones that projects are made of.

An oracle that follows the plain rules (split at slashes, count levels) says what a plain path does; the
disguises are applied to paths of which that is known.
"""

import random
from collections.abc import Callable, Iterator

_NAMES = [
    "src",
    "data",
    "report",
    "notes.txt",
    "app.py",
    "img",
    "a",
    "b2",
    "Main.java",
    "my-file",
    "read_me.md",
    "v1.2",
    "x.tar.gz",
    "übung.txt",
    "日本",
]
Disguise = Callable[[str], str]

DISGUISES: tuple[Disguise, ...] = (
    lambda path: path.replace("/", "\\"),
    lambda path: path.replace("..", "%2e%2e"),
    lambda path: path.replace("..", "%2E%2E").replace("/", "%2F"),
    lambda path: path.replace("..", ".%2e"),
    lambda path: path.replace("/", "%2f"),
    lambda path: path.replace("/", "%5c"),
    lambda path: path.replace("..", "%252e%252e"),
    lambda path: path.replace("/", "%252f"),
    lambda path: path.replace("..", "%c0%ae%c0%ae"),
    lambda path: path.replace("/", "%c0%af"),
    lambda path: path.replace("/", "%u2215"),
    lambda path: path.replace("..", "\uff0e\uff0e"),
    lambda path: path.replace("..", "\u2025"),
    lambda path: path.replace("..", "\u2024\u2024"),
    lambda path: path.replace("/", "\uff0f"),
    lambda path: path.replace("/", "\u2215"),
    lambda path: path.replace("/", "\u2044"),
    lambda path: path.replace("/", "\uff3c"),
    lambda path: path.replace("..", ".\u200b."),
    lambda path: path.replace("../", "..//"),
    lambda path: path.replace("../", ".././"),
    lambda path: path.replace("../", ".. /"),
    lambda path: path.replace("../", "..;/"),
    lambda path: path.replace("../", "....//"),
)


def climbs(path: str) -> bool:
    """Whether a plain relative path leaves the folder it starts in."""
    level = 0
    for part in path.split("/"):
        if part == "..":
            level -= 1
        elif part not in ("", "."):
            level += 1
        if level < 0:
            return True
    return False


def plain_paths(count: int, seed: int = 11) -> Iterator[str]:
    """Relative paths of names and dots, climbing or not."""
    chooser = random.Random(seed)
    for _ in range(count):
        parts = [
            chooser.choice(("..", ".", "")) if chooser.random() < 0.25 else chooser.choice(_NAMES)
            for _ in range(chooser.randint(1, 6))
        ]
        path = "/".join(parts)
        if path.strip("/") and not path.startswith("/"):
            yield path


def disguised_climbs(count: int, seed: int = 12) -> Iterator[str]:
    chooser = random.Random(seed)
    for path in plain_paths(count, seed):
        if climbs(path):
            disguise = chooser.choice(DISGUISES)
            yield disguise(f"../{path}") if "../" not in path else disguise(path)


FORBIDDEN = (
    "/etc/passwd",
    "/etc/shadow",
    "etc/shadow",
    "//etc//shadow",
    "/./etc/./shadow",
    "/tmp/x",
    "/",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "file:/etc/passwd",
    "file://server/share",
    "php://filter/resource=x",
    "zip://a.zip#x",
    "http://example.com/x",
    "~",
    "~/notes.txt",
    "~root/.bashrc",
    "\uff5e/notes.txt",
    "$HOME/x",
    "${HOME}/x",
    "$(whoami)/x",
    "`id`",
    "%USERPROFILE%\\x",
    "%APPDATA%/x",
    "C:\\Windows\\win.ini",
    "c:/boot.ini",
    "C:secret.txt",
    "C:",
    "\\\\server\\share\\x",
    "//server/share/x",
    "\\\\?\\C:\\x",
    "\\\\.\\PhysicalDrive0",
    "\\Windows\\x",
    "a.txt::$DATA",
    "a.txt:hidden",
    "a.txt:hidden.exe:$DATA",
    "NUL",
    "con",
    "dir\\aux.txt",
    "COM1",
    "x\x00.txt",
    "x%00.txt",
    "a\nb",
    "%0a/bin/cat%20/etc/passwd",
    "%25%5c..%25%5c..%255cboot.ini",
    "..%5c..%5c/boot.ini",
    ".\\\\./.\\\\./etc/passwd",
    "....\\/....\\/etc/passwd",
    "/%c0%ae%c0%ae/%c0%ae%c0%ae/etc/passwd",
    ".env",
    "app/.env",
    ".ENV",
    ".env.production",
    ".env.",
    ".env ",
    "config/.env.local",
    ".ssh/id_rsa",
    "backup/id_ed25519",
    ".aws/credentials",
    ".git/config",
    ".GIT/Config",
    "sub/.git/hooks/pre-commit",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".kube/config",
    ".docker/config.json",
    "proc/self/environ",
    "/proc/self/environ",
    "/proc/1/mem",
    "/dev/sda",
    "/sys/kernel",
    "/root/x",
    "/var/run/docker.sock",
    "run/secrets/db",
    ".bash_history",
    ".bashrc",
    ".%65nv",
    ".e\u200bnv",
    "",
    "   ",
    "a/../../b",
    "a/b/../../../c",
    "..",
    "../",
    "..\\",
    "x/..\\..\\y",
    "x" * 5000,
)
ALLOWED = (
    "notes.txt",
    "a/b/c.py",
    "./a",
    "a/../b",
    "a//b",
    "a b/c d.txt",
    "...",
    "..hidden",
    "file..txt",
    "a...b",
    "v1..v2.diff",
    ".gitignore",
    ".github/workflows/ci.yml",
    ".git/HEAD",
    ".env.example",
    ".env.sample",
    "environment.env.md",
    "src/proc/x.c",
    "docs/etc/readme.md",
    "dev/tool.py",
    "sys/main.c",
    "console.log",
    "conf/nul_check.py",
    "aux.h",
    "100%.txt",
    "50%25.txt",
    "caf%C3%A9.txt",
    "a%20b.txt",
    "report-12:30:00.txt",
    "src/app.py:42",
    "app/routes/$id.tsx",
    "cash$flow.xlsx",
    "back~up.txt",
    "file~",
    "\u65e5\u672c\u8a9e.txt",
    "\u00fcbung/caf\u00e9.md",
    "to be continued\u2026.txt",
    "id_rsa.pub",
    "passwd.py",
    "shadow.css",
    "x+y=z,(1).txt",
    "[slug].tsx",
    "@scope/pkg/index.js",
)
