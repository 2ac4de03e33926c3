"""A real PKCS#11 token, from SoftHSM, in a folder of its own."""

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

LIBRARY: Final = Path("/usr/lib/softhsm/libsofthsm2.so")
PIN: Final = "4711-0815"


class SoftToken:
    """`environment` leads the library to the token; `uri` names a key in it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "tokens").mkdir()
        self.folder = folder
        self.pin_file = folder / "pin"
        self.pin_file.write_text(f"{PIN}\n")
        (folder / "softhsm2.conf").write_text(
            f"directories.tokendir = {folder / 'tokens'}\nlog.level = ERROR\n"
        )
        self.environment = {"SOFTHSM2_CONF": str(folder / "softhsm2.conf")}
        subprocess.run(
            [
                "softhsm2-util",
                "--init-token",
                "--free",
                "--label",
                "qwed",
                "--so-pin",
                "0000-1",
                "--pin",
                PIN,
            ],
            check=True,
            capture_output=True,
            env={**os.environ, **self.environment},
        )

    def uri(self, label: str = "signing", pin_source: str | None = None) -> str:
        source = pin_source or f"file:{self.pin_file}"
        return f"pkcs11:token=qwed;object={label}?module-path={LIBRARY}&pin-source={source}"


def need_softhsm() -> None:
    if not LIBRARY.exists():
        if os.environ.get("CI"):
            pytest.fail("SoftHSM is not installed: scripts/install-softhsm")
        pytest.skip("SoftHSM is not installed: scripts/install-softhsm")
