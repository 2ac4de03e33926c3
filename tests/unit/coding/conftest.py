"""What both sandboxes are tried with: a home with secrets in it, and a gateway."""

import pytest
from tests.support.sandboxed import Gateway


@pytest.fixture
def gateway():
    gateway = Gateway()
    yield gateway
    gateway.close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_rsa").write_text("SECRET")
    (home / "other").mkdir()
    (home / "other" / "notes.txt").write_text("SECRET")
    (home / "project").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
    return home
