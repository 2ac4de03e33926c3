"""Files that hold credentials or keys, by name: one table for every engine that judges a path.

Credentials of a person, a machine or a cloud are never read. A secret of the project itself (a private key, a
key store, the state of Terraform) may be, and not as if it were any other file.
"""

import re
from collections.abc import Sequence
from typing import Final

#: Files and folders, wherever they stand; in small letters.
CREDENTIAL_NAMES: Final = frozenset(
    [
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".my.cnf",
        ".htpasswd",
        ".git-credentials",
        ".bash_history",
        ".zsh_history",
        ".python_history",
        ".mysql_history",
        ".psql_history",
        ".node_repl_history",
        ".sh_history",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "id_ecdsa_sk",
        "id_ed25519_sk",
        "authorized_keys",
        "authorized_keys2",
        ".terraformrc",
        ".vault-token",
        ".dockercfg",
        ".s3cfg",
        ".boto",
        ".oci",
        ".bluemix",
        ".databrickscfg",
        ".snowsql",
        ".password-store",
        ".mylogin.cnf",
        ".rclone.conf",
        "rclone.conf",
        "ntds.dit",
        "docker.sock",
        "application_default_credentials.json",
        "accesstokens.json",
        "msal_token_cache.json",
        "msal_token_cache.bin",
        "credentials.tfrc.json",
        "logins.json",
        "logins-backup.json",
        "key3.db",
        "key4.db",
        "cookies.sqlite",
        "signons.sqlite",
        "cookies.binarycookies",
        "login.keychain",
        "login.keychain-db",
        "wallet.dat",
        "master.key",
    ]
) | {"login data", "login data for account", "web data"}
#: Names that follow each other, anywhere in a path.
CREDENTIAL_RUNS: Final = (
    (".git", "config"),
    (".config", "gcloud"),
    (".config", "gh"),
    (".config", "op"),
    (".config", "doctl"),
    (".config", "rclone"),
    (".config", "google-chrome"),
    (".config", "chromium"),
    (".config", "bravesoftware"),
    (".config", "microsoft-edge"),
    (".config", "opera"),
    (".config", "vivaldi"),
    (".mozilla", "firefox"),
    (".thunderbird",),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
    (".gem", "credentials"),
    (".composer", "auth.json"),
    (".m2", "settings.xml"),
    (".m2", "settings-security.xml"),
    (".local", "share", "keyrings"),
    (".gnome2", "keyrings"),
    ("application support", "google", "chrome"),
    ("application support", "bravesoftware"),
    ("application support", "microsoft edge"),
    ("application support", "firefox"),
    ("library", "keychains"),
    ("library", "cookies"),
    ("library", "safari"),
    ("google", "chrome", "user data"),
    ("microsoft", "edge", "user data"),
    ("brave-browser", "user data"),
    ("mozilla", "firefox", "profiles"),
    ("microsoft", "credentials"),
    ("microsoft", "protect"),
    ("windows", "system32", "config"),
    ("system32", "config", "sam"),
    ("var", "run", "secrets"),
    ("run", "secrets"),
)
_DATA: Final = r"(?:\.(?:json|ya?ml|toml|ini|txt|csv|xml|properties|conf|cfg|enc|bak))"
_PUBLIC: Final = "pub|public|certs?|certificates?|ca|cacert|chain|fullchain|bundle|roots?|crt|csr|dhparams?"
#: The last name of a path, in small letters.
_OWN_SECRET: Final = re.compile(
    rf"""(?x)
      [^/]* \. (?: p12|pfx|pkcs12|p8|jks|jceks|bks|keystore|kdbx?|ppk|keytab|ovpn|kubeconfig )
    | [^/]* \.tfstate (?: [.?~][\w=&-]* )*
    | (?! [^/]*\.pub$ ) id_(?:rsa|dsa|ecdsa|ed25519) [-_.~] [^/]*
    | ssh_host_\w+_key
    | (?! (?:[^/]*[-_.])? (?:pub|public) (?:[-_.][^/]*)? \.key$ ) [^/]* \.key
    | (?! (?:[^/]*[-_.])? (?:{_PUBLIC}) (?:[-_.][^/]*)? \.pem$ ) [^/]* \.pem
    | (?! [^/]*pub ) (?:[^/]*[-_.])? (?:key|privkey|private) (?:[-_.][^/]*)? \.pem
    | (?:[^/]*[-_.])? (?:credentials?|secrets?) {_DATA}+ | credentials | [^/]*[-_]credentials
    | (?:[^/]*[-_.])? kubeconfig (?:\.[^/]*)?
    | (?:[^/]*[-_.])? service[-_]?account (?:[-_.][^/]*)? \.json | client_secrets? [^/]* \.json
    | (?:[^/]*[-_.])? firebase[-_]adminsdk [^/]* \.json
    | (?:[^/]*[-_.])? (?:sa|gcp|gcloud|google|firebase|adminsdk) [^/]* [-_.]key [^/]* \.json
    | (?:[^/]*[-_.])? (?:private[-_]?key|secring) (?:[-_.][^/]*)?
    | [^/]* [-_] (?:rsa|dsa|ecdsa|ed25519)
    """
)


def find_credentials(names: Sequence[str]) -> str | None:
    """What of a path (its names in small letters) is a place of credentials."""
    for name in names:
        if name in CREDENTIAL_NAMES:
            return name
    if _RUN_STARTS.isdisjoint(names):
        return None
    for run in CREDENTIAL_RUNS:
        if run[0] in names and holds_run(names, run):
            return "/".join(run)
    return None


_RUN_STARTS: Final = frozenset(run[0] for run in CREDENTIAL_RUNS)


def holds_run(names: Sequence[str], run: tuple[str, ...]) -> bool:
    return any(tuple(names[index : index + len(run)]) == run for index in range(len(names) - len(run) + 1))


def is_own_secret(name: str) -> bool:
    """Whether a file of this name (in small letters) holds a secret of the project it lies in."""
    return len(name) <= 255 and _OWN_SECRET.fullmatch(name) is not None
