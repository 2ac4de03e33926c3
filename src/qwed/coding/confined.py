"""The first program in the partial sandbox: it gives up rights for good, then becomes the command.

    python -I -S confined.py start=PROGRAM read=PATH... write=PATH... -- COMMAND...

Landlock: files below PATH and no others; no TCP; where the kernel knows it, no abstract sockets and no
signals to programs outside. Seccomp: no sockets but Unix ones, no way round by io_uring, no keys of the
kernel's ring, no text pushed into the terminal. Capabilities: none. Whatever can't be given up ends it before
the command starts.
"""

import ctypes
import os
import platform
import stat
import struct
import sys

#: Before it, a file outside could be cut to nothing.
FIRST_VERSION = 3
_SCOPES_SINCE, _NETWORK_SINCE, _DEVICES_SINCE = 6, 4, 5
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REFER, _TRUNCATE, _DEVICE_CALLS = 1 << 13, 1 << 14, 1 << 15
_READS = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE_CALLS
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_SET_SECCOMP, _DROP_BOUND, _NO_NEW_RIGHTS, _AMBIENT = 22, 24, 38, 47
_REFUSED = 0x00050000 | 1
_ALLOWED = 0x7FFF0000
_KILLED = 0x80000000
_LOAD, _EQUALS, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_UNIX = 1
_TERMINAL_CALLS = (0x5412, 0x541C)
#: Of the calls that are refused, by machine: its mark, `socket` and `socketpair`, `ioctl`, and the rest.
MACHINES = {
    "x86_64": (0xC000003E, (41, 53), 16, (425, 248, 249, 250)),
    "aarch64": (0xC00000B7, (198, 199), 29, (425, 217, 218, 219)),
}
_libc = ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """Which Landlock the kernel has; 0 where it has none, or is told to have none."""
    version: int = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    return max(version, 0)


def _must(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


def give_up_rights() -> None:
    _must(_libc.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0), "no new rights")
    _libc.prctl(_AMBIENT, 4, 0, 0, 0)
    for number in range(64):
        _libc.prctl(_DROP_BOUND, number, 0, 0, 0)
    header = struct.pack("Ii", 0x20080522, 0)
    _must(_libc.capset(header, bytes(24)), "no capabilities")


def confine_files(readable: list[str], writable: list[str]) -> None:
    version = landlock_version()
    if version < FIRST_VERSION:
        raise OSError(95, f"Landlock {version} of this kernel is too old")
    handled = (1 << 15) - 1 | (_DEVICE_CALLS if version >= _DEVICES_SINCE else 0)
    given = struct.pack("Q", handled)
    given += struct.pack("Q", 3) if version >= _NETWORK_SINCE else b""
    given += struct.pack("Q", 3) if version >= _SCOPES_SINCE else b""
    ruleset = _must(_libc.syscall(_CREATE_RULESET, given, ctypes.c_size_t(len(given)), 0), "Landlock")
    for path in readable:
        _allow(ruleset, path, _READS)
    for path in writable:
        _allow(ruleset, path, handled)
    _must(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rights &= -1 if stat.S_ISDIR(os.fstat(place).st_mode) else _OF_FILES
    rule = struct.pack("=Qi", rights, place)
    _must(_libc.syscall(_ADD_RULE, ruleset, 1, rule, 0), path)
    os.close(place)


def refuse_sockets() -> None:
    mark, sockets, device_call, others = MACHINES[platform.machine()]
    lines = [(_LOAD, 0, 0, 4), (_EQUALS, 1, 0, mark), (_RETURN, 0, 0, _KILLED), (_LOAD, 0, 0, 0)]
    if platform.machine() == "x86_64":
        # A second table of the same calls, under other numbers.
        lines += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _REFUSED)]
    for number in others:
        lines += [(_EQUALS, 0, 1, number), (_RETURN, 0, 0, _REFUSED)]
    for number in sockets:
        lines += [(_EQUALS, 0, 4, number), (_LOAD, 0, 0, 16), (_EQUALS, 1, 0, _UNIX)]
        lines += [(_RETURN, 0, 0, _REFUSED), (_RETURN, 0, 0, _ALLOWED)]
    push, linux = _TERMINAL_CALLS
    lines += [(_EQUALS, 0, 5, device_call), (_LOAD, 0, 0, 24), (_EQUALS, 1, 0, push), (_EQUALS, 0, 1, linux)]
    lines += [(_RETURN, 0, 0, _REFUSED), (_RETURN, 0, 0, _ALLOWED), (_RETURN, 0, 0, _ALLOWED)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))
    _must(_libc.prctl(_SET_SECCOMP, 2, program, 0, 0), "seccomp")


def main() -> None:
    split = sys.argv.index("--")
    given = [word.partition("=") for word in sys.argv[1:split]]
    program, readable, writable = (
        [path for kind, _, path in given if kind == wanted] for wanted in ("start", "read", "write")
    )
    command = sys.argv[split + 1 :]
    try:
        give_up_rights()
        confine_files(readable, writable)
        refuse_sockets()
    except (OSError, KeyError) as problem:
        sys.exit(f"nothing was started, because the sandbox could not be closed: {problem}")
    try:
        os.execv(program[0], command)  # noqa: S606 - the command that the person named
    except OSError as problem:
        sys.exit(f"{command[0]} could not be started: {problem.strerror}")


if __name__ == "__main__":
    main()
