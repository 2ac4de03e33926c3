"""Identity providers on this machine: the certified one from npm, and one that lies as it is told."""

import json
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID: Final = "qwed"
CLIENT_SECRET: Final = "a-secret-of-this-test"
_ROOT: Final = Path(__file__).resolve().parents[2]
_SOURCE: Final = _ROOT / "packaging" / "oidc-provider"
_INSTALLED: Final = _ROOT / ".oidc-provider"


def _installed() -> Path:
    """The provider's script beside its packages, installed until its lock changes."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        message = "there is no Node for the identity provider: install nodejs and npm"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    names = ("package.json", "package-lock.json", "provider.mjs")
    stamp = str(zlib.crc32(b"".join((_SOURCE / name).read_bytes() for name in names)))
    folder = _INSTALLED / stamp
    if not (folder / ".ready").exists():
        making = _INSTALLED / f"{stamp}.{os.getpid()}"
        making.mkdir(parents=True)
        for name in names:
            shutil.copy(_SOURCE / name, making)
        command = ["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(command, cwd=making, check=True, capture_output=True)
        (making / ".ready").touch()
        try:
            making.rename(folder)
        except OSError:
            shutil.rmtree(making)
    return folder / "provider.mjs"


class RealProvider:
    def __init__(self, issuer: str, people: Path) -> None:
        self.issuer = issuer
        self._people = people

    def knows(self, **people: dict[str, Any]) -> None:
        self._people.write_text(json.dumps(people), encoding="utf-8")

    def sign_in(self, url: str, name: str) -> str:
        """What a person's browser does there; the address to which it is sent back."""
        with httpx2.Client(base_url=self.issuer, timeout=30) as client:
            answer = client.get(url)
            for _ in range(12):
                if answer.status_code == 200:
                    form = {"prompt": "login", "login": name, "password": "any"}
                    if 'name="login"' not in answer.text:
                        form = {"prompt": "consent"}
                    action = re.search(r'action="([^"]+)"', answer.text)
                    assert action is not None, answer.text[:500]
                    answer = client.post(action.group(1), data=form)
                    continue
                assert answer.status_code in (302, 303), answer.text[:500]
                target = answer.headers["location"]
                if "/sign-in/callback" in target:
                    return target
                answer = client.get(target)
        raise AssertionError("the provider never came to an end")


@contextmanager
def real_provider(folder: Path, home: str) -> Iterator[RealProvider]:
    script, people = _installed(), folder / "people.json"
    people.write_text("{}", encoding="utf-8")
    process = subprocess.Popen(
        ["node", str(script), str(people), home],
        cwd=script.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        issuer = next(line.strip() for line in process.stdout if line.startswith("http://"))
        yield RealProvider(issuer, people)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@cache
def first_key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})


class LyingProvider:
    """Answers as the standard says, but for what a test changes.

    `claims` and `header` change the next ID tokens, `discovery` the discovery document; `sign` may replace
    the signature. A code works once.
    """

    def __init__(self) -> None:
        self.key = first_key()
        self.issuer = ""
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.discovery: dict[str, Any] = {}
        self.user_info: dict[str, Any] = {"groups": ["admins"], "name": "Ada"}
        self.sign: Callable[[dict[str, Any]], str] | None = None
        self.now: Callable[[], float] = time.time
        self.status: dict[str, int] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.nonces: dict[str, str] = {}
        self.gives_refresh = True
        self._codes: set[str] = set()

    def authorize(self, url: str, **change: str) -> str:
        """A browser that is sent there comes back with this."""
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        self.asked.append(("/authorize", asked))
        code = f"code-{len(self.asked)}"
        self._codes.add(code)
        self.nonces[code] = asked["nonce"]
        answer = {"code": code, "state": asked["state"], "iss": self.issuer, **change}
        kept = {name: value for name, value in answer.items() if value}
        return f"{asked['redirect_uri']}?{urllib.parse.urlencode(kept)}"

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, Any]:
        self.asked.append((path, form))
        if path in self.status:
            return self.status[path], {"error": "told_so"}
        if path == "/.well-known/openid-configuration":
            return 200, self._discovery()
        if path == "/keys":
            return 200, {"keys": [self.key.as_dict(private=False)]}
        if path == "/me":
            return 200, {"sub": "ada", **self.user_info}
        if form.get("grant_type") == "refresh_token":
            return 200, self._tokens(None)
        if form.get("code") not in self._codes:
            return 400, {"error": "invalid_grant"}
        self._codes.discard(form["code"])
        return 200, self._tokens(self.nonces[form["code"]])

    def _tokens(self, nonce: str | None) -> dict[str, Any]:
        now = int(self.now())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "sub": "ada", "iat": now, "exp": now + 3600}
        if nonce is not None:
            claims["nonce"] = nonce
        claims |= self.claims
        tokens = {"access_token": "access", "token_type": "Bearer", "id_token": self._signed(claims)}
        return {**tokens, "refresh_token": "refresh"} if self.gives_refresh else tokens

    def _signed(self, claims: dict[str, Any]) -> str:
        kept = {name: value for name, value in claims.items() if value is not None}
        if self.sign is not None:
            return self.sign(kept)
        return jwt.encode({"alg": "RS256", "kid": "one", **self.header}, kept, self.key)

    def _discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/me",
            "end_session_endpoint": f"{self.issuer}/end",
            "scopes_supported": ["openid", "profile", "groups", "offline_access"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **self.discovery,
        }


@contextmanager
def lying_provider() -> Iterator[LyingProvider]:
    provider = LyingProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("content-length", 0))
            form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
            status, body = provider.answer(self.path.partition("?")[0], form)
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
