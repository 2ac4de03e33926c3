"""Other people's packages, each in an environment of its own that is built once and kept under `.bench`."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".bench"


class CannotInstall(Exception):
    """The package index, or the packages, would not; the message is the installer's last word."""


def environment(name: str, requirements: Path) -> Path:
    """The Python of `.bench/<name>`, which holds exactly what `requirements` says. Raises `CannotInstall`."""
    folder = KEPT / name
    python, stamp = folder / "bin" / "python", folder / ".ready"
    wanted = f"{sys.version}\n{hashlib.sha256(requirements.read_bytes()).hexdigest()}\n"
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"   building {folder.relative_to(ROOT)} ...", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    _run([*_installer(python), "--no-deps", "-r", str(requirements)])
    stamp.write_text(wanted)
    return python


def own_environment(extra: str) -> Path:
    """QWED itself with one of its extras, as a user would install it."""
    folder = KEPT / "peers" / f"this-{extra}"
    python = folder / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    _run([*_installer(python), "-c", str(ROOT / "constraints.txt"), f"{ROOT}[{extra}]"])
    return python


def _installer(python: Path) -> list[str]:
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        return [str(uv), "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python)]
    return [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise CannotInstall(" ".join(lines[-3:])[:300] or f"exit status {done.returncode}")
