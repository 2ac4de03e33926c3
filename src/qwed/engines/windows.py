"""Commands of PowerShell and cmd.exe in a text that nobody marked as a program.

Neither has a parser here, so nothing is ever called harmless by this table: it only says that a piece of text
begins like a command that acts. A program that is meant to run and is one of these stays UNCERTAIN.
"""

import re
from typing import Final

from qwed.engines.words import words

_PIECES: Final = re.compile(r"[;&|{}()\r\n]+")
_NOUNS: Final = (
    "Item|ItemProperty|Content|Process|Service|Computer|WebRequest|RestMethod|Expression|Command|File|Job"
    "|ScheduledTask|ScheduledJob|LocalUser|LocalGroup|LocalGroupMember|NetFirewallRule|NetFirewallProfile"
    "|MpPreference|ExecutionPolicy|Acl|VM|Disk|Volume|Partition|EventLog|History|PSDrive|PSSession|WmiMethod"
    "|CimMethod|CimInstance|WmiObject|Module|Package|ADUser|ADGroup|ADGroupMember|ADObject|ADAccountPassword"
    "|BitsTransfer|Archive|Website|MailMessage|Type"
)
_VERBS: Final = (
    "Remove|Set|New|Clear|Stop|Start|Restart|Invoke|Copy|Move|Rename|Out|Add|Enable|Disable|Register|Unregister"
    "|Uninstall|Install|Send|Export|Import|Expand|Compress|Suspend|Resume|Reset|Format|Initialize|Enter"
)
_CMDLET: Final = re.compile(rf"(?:(?:{_VERBS})-(?:{_NOUNS}))(?:\s+(?P<rest>.*))?", re.I | re.S)
_ALIAS: Final = re.compile(r"(?:iex|iwr|irm|saps|spps|ri|ni|mi|cpi)\s+(?P<rest>.+)", re.I | re.S)
# `Remove-Item deletes files` is a sentence; `Remove-Item C:\x` and `Stop-Computer` are none.
_ARGUMENT: Final = re.compile(r"(?:^|\s)-[A-Za-z]|[\\/$*'\"@:]|\w\.\w|^\S*$", re.M)
_PATH_OR_ADDRESS: Final = re.compile(r"\A(?:[A-Za-z]:|\$\w|\\\\|https?://|['\"]|\.{0,2}\\)", re.I)
_DOTNET: Final = re.compile(r"\[[A-Za-z][\w.]{2,80}\]::[A-Za-z]\w*\s*\(")
# A path of other systems begins alike: `move /inbox/1 to /archive`.
_SWITCH: Final = re.compile(r"(?:^|\s)/(?:[A-Za-z?]{1,3}|quiet|force|delete|create|add)(?=[\s:]|$)", re.M)
_DRIVE: Final = re.compile(r"(?:^|\s)['\"]?(?:[A-Za-z]:|\\\\|%\w+%|\*\.)")

# Programs, and the words behind them with which they act; none: with any switch or path of Windows.
_ACTING: Final = {
    "sc": words("create delete config stop start failure sdset"),
    "netsh": words("advfirewall firewall interface wlan winhttp add set delete portproxy"),
    "vssadmin": words("delete resize"),
    "wevtutil": words("cl clear-log sl set-log"),
    "wmic": words("process os useraccount shadowcopy product service"),
    **dict.fromkeys(
        words(
            """
            del erase rd rmdir format attrib icacls cacls takeown schtasks taskkill bcdedit shutdown cipher
            diskpart certutil bitsadmin runas copy xcopy robocopy move ren rename mklink cmd powershell pwsh
            wbadmin net fsutil mountvol subst assoc ftype setx msiexec regsvr32 rundll32 mshta cscript wscript
            """
        ),
        frozenset[str](),
    ),
}
# `reg add HKLM\…` names a key.
_KEY: Final = re.compile(
    r"(?:add|delete|import|load|unload|restore|save|copy)\s+['\"]?(?:\\\\|hk|[a-z]:)", re.I
)
# `net start date` is no service.
_AFTER_A_NET: Final = words("date dates time loss losses value values point price amount total")
_FIRST_WORDS: Final = frozenset({*_ACTING, *words("reg iex iwr irm saps spps ri ni mi cpi")})


def may_be_windows(word: str) -> bool:
    """Whether a piece of text that begins with this word is looked up at all."""
    name = word.lower().removesuffix(".exe")
    return name in _FIRST_WORDS or ("-" in word and _CMDLET.fullmatch(word) is not None)


def find_windows(text: str) -> str | None:
    """The first command in the text that acts, as it stands there."""
    if _DOTNET.search(text):
        return text.strip()[:80]
    return next((piece.strip()[:80] for piece in _PIECES.split(text) if _acts(piece.strip())), None)


def _acts(piece: str) -> bool:
    first, _, rest = piece.partition(" ")
    if "-" in first:
        cmdlet = _CMDLET.fullmatch(piece)
        return cmdlet is not None and _ARGUMENT.search((cmdlet["rest"] or "").strip()) is not None
    alias = _ALIAS.fullmatch(piece)
    if alias is not None and _PATH_OR_ADDRESS.match(alias["rest"]):
        return True
    name = first.rpartition("\\")[2].lower().removesuffix(".exe")
    if name == "reg":
        return _KEY.match(rest) is not None
    verbs = _ACTING.get(name)
    if verbs is None:
        return False
    given = rest.split()
    if name == "net" and given[:1] in (["stop"], ["start"]):
        return len(given) == 2 and given[1].lower() not in _AFTER_A_NET
    if verbs:
        return len(given) > 1 and given[0].lower() in verbs
    return _SWITCH.search(rest) is not None or _DRIVE.search(rest) is not None
