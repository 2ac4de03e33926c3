"""Programs that can ruin or take over a machine, asked to do nothing but look."""

import re
from typing import Final

_EVERYWHERE: Final = frozenset({"--help", "--version", "-V", "-l", "--list"})
# One of these words makes the whole command a look.
_LOOKS: Final = {
    "cryptsetup": "luksDump luksUUID isLuks status benchmark tcryptDump bitlkDump fvault2Dump token",
    "mdadm": "--detail -D --query -Q --examine -E --detail-platform",
    "hdparm": "-I -i -t -T -C -g",
    "parted": "print unit",
    "fdisk": "-s --getsz -x --list-details",
    "sfdisk": "-d --dump -V --verify -s --show-size -J --json -F --list-free",
    "shutdown": "--show -c",
    "swapon": "-s --summary --show",
    "visudo": "-c --check",
    "passwd": "-S --status",
    "chage": "-l --list",
    "modprobe": "-n --dry-run --show --show-depends -c --showconfig -R --resolve-alias",
    "kexec": "-S --status",
    "setcap": "-v",
    "iptables": "-L -S --list-rules -nL -vnL -nvL -C --check",
    "ip6tables": "-L -S --list-rules -nL -vnL -nvL -C --check",
    "nft": "list -c --check describe",
    "ufw": "status show",
    "auditctl": "-s -v",
    "firewall-cmd": "--state --check-config",
    "apparmor_parser": "-N --names -Q --skip-kernel-load",
    "pfctl": "-s -sr -sa -ss -n",
    "spctl": "--status --assess -a",
    "csrutil": "status",
    "mount": "--show-labels",
    "vssadmin": "list",
    "bcdedit": "/enum",
    "wevtutil": "qe el gl",
}
_LOOKING: Final = {name: frozenset(looks.split()) for name, looks in _LOOKS.items()}
_ASKS_FOR: Final = re.compile(r"--(?:list|get|query|info|show)-[\w-]+(?:=.*)?")
# These look unless one of these words is there.
_CHANGES: Final = {
    "sysctl": re.compile(r"-\w*[wpf]\w*|--(?:write|load|system).*|[^-].*=.*"),
    "wipefs": re.compile(r"-\w*[aobf]\w*|--(?:all|offset|backup|force).*"),
    "badblocks": re.compile(r"-\w*[wn]\w*"),
    "debugfs": re.compile(r"-\w*w\w*"),
}


def only_looks(name: str, args: list[str]) -> bool:
    if name in _CHANGES:
        return not any(map(_CHANGES[name].fullmatch, args))
    if name == "mount" and not args:
        return True
    looks = _EVERYWHERE | _LOOKING.get(name, frozenset())
    return any(arg in looks or (name == "firewall-cmd" and _ASKS_FOR.fullmatch(arg)) for arg in args)
