"""Keys, key stores, state files and credentials: which file is never read, and which not as any other."""

import pytest

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.engines.code import places
from qwed.engines.sensitive_places import is_own_secret
from qwed.engines.tools import ToolControlEngine

CREDENTIALS = [
    "home/ann/.aws/credentials",
    "home/ann/.config/gcloud/application_default_credentials.json",
    "backup/application_default_credentials.json",
    ".azure/msal_token_cache.json",
    "home/ann/.kube/config",
    "home/ann/.oci/config",
    "home/ann/.ssh/id_ed25519",
    "keys/id_ecdsa",
    "home/ann/.mozilla/firefox/abc.default/key4.db",
    "home/ann/.mozilla/firefox/abc.default/cookies.sqlite",
    "home/ann/.config/google-chrome/Default/Cookies",
    "home/ann/.config/chromium/Default/Login Data",
    "Users/ann/Library/Application Support/Google/Chrome/Default/Login Data",
    "Users\\ann\\AppData\\Local\\Google\\Chrome\\User Data\\Default\\Cookies",
    "Users/ann/Library/Keychains/login.keychain-db",
    "home/ann/.local/share/keyrings/login.keyring",
    "home/ann/.password-store/bank.gpg",
    "home/ann/.cargo/credentials.toml",
    "home/ann/.terraform.d/credentials.tfrc.json",
    "profile/logins.json",
]
OWN_SECRETS = [
    "certs/private/ca-key.pem",
    "ca.key.pem",
    "ssh_host_rsa_key",
    "backup/id_rsa.old",
    "ID_RSA.bak",
    "id_ed25519_work",
    "infra.tfstate?raw=1",
    "firebase-adminsdk-a1b2c3.json",
    "server.key",
    "certs/private.pem",
    "tls/PRIVKEY.PEM",
    "deploy_rsa",
    "terraform.tfstate",
    "env/prod/terraform.tfstate.backup",
    "terraform.tfstate.d/prod/terraform.tfstate",
    "app/release.jks",
    "release.keystore",
    "signing.p12",
    "certs/client.pfx",
    "AuthKey_ABC123.p8",
    "vault.kdbx",
    "putty.ppk",
    "krb5.keytab",
    "config/credentials.yml",
    "config/credentials.yml.enc",
    "secrets.json",
    "gcp/service-account.json",
    "my-service-account-prod.json",
    "client_secret_123.json",
    "cluster.kubeconfig",
    "kubeconfig",
    "vpn/office.ovpn",
    "certs/*.key",
    "state/%74erraform.tfstate",
    "./keys//server.key ",
]
ORDINARY = [
    "src/app.py",
    "README.md",
    "src/secrets.py",
    "src/credentials.ts",
    "docs/keys.md",
    "keyboard.json",
    "certs/ca.pem",
    "fullchain.pem",
    "public.pem",
    "id_rsa.pub",
    "client-cert.pem",
    "keys/public.key",
    "main.tf",
    "state.json",
    "cookies/chocolate.md",
    "src/cookies.ts",
    "package.json",
    "monkey.txt",
    "pricing/tokens.csv",
    "report.pdf",
    "primary-key.json",
    "history.txt",
    "library/index.md",
    "google/chrome.md",
]


def read(path: str, action: str = "file_read"):
    return ToolControlEngine().verify(Action(action, parameters={"path": path}))


@pytest.mark.parametrize("action", ["file_read", "read_file"])
@pytest.mark.parametrize("path", CREDENTIALS)
def test_credentials_of_people_machines_browsers_and_clouds_are_not_read(path, action):
    found = read(path, action)
    assert (found.status, found.risk) == (Status.FAILED, Risk.HIGH)
    assert found.checks_failed == ("sensitive-place",)


@pytest.mark.parametrize("path", OWN_SECRETS)
def test_a_secret_of_the_project_is_never_low_to_read(path):
    found = read(path)
    assert found.risk is Risk.HIGH
    assert found.status is Status.VERIFIED


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_files_stay_low(path):
    found = read(path)
    assert (found.status, found.risk) == (Status.VERIFIED, Risk.LOW)


def test_a_secret_named_among_words_counts_too():
    found = ToolControlEngine().verify(Action("read_file", "please read deploy/server.key for me"))
    assert found.risk is Risk.HIGH


@pytest.mark.parametrize("path", CREDENTIALS)
def test_programs_are_judged_by_the_same_table(path):
    assert places.is_sensitive(path.replace("\\", "/"))


@pytest.mark.parametrize("path", [p for p in OWN_SECRETS if "%" not in p and not p.endswith(" ")])
def test_what_must_not_leave_is_the_same_table(path):
    assert places.is_local_secret(path)


@pytest.mark.parametrize("path", ORDINARY)
def test_programs_may_read_and_send_ordinary_files(path):
    assert not places.is_sensitive(path)
    assert not places.is_local_secret(path)


def test_a_name_too_long_to_be_one_is_not_searched():
    assert not is_own_secret("sa-key-" * 10_000 + ".json")
