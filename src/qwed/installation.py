"""Is this installation ours alone?

Other products on the package index are called `qwed` and `qwed-open-responses`. Their packages and their
command have the names of ours, so whichever is installed last replaces files of the other. Nothing here
imports a package that may have been replaced.
"""

import importlib.util
from pathlib import Path

DISTRIBUTION = "qwed-gateway"
PACKAGES = ("qwed", "qwed_new", "qwed_open_responses", "qwed_sdk")
#: The names, as a folder of installed packages spells them, of products that ship packages of ours.
_OTHERS = ("qwed", "qwed_open_responses")
REMEDY = f"pip uninstall qwed qwed-open-responses, then install {DISTRIBUTION} again with --force-reinstall"


def other_products(folder: Path) -> list[str]:
    """The products installed in a folder that ship packages of ours: `qwed 8.0.0`."""
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
    found = (name.removesuffix(".dist-info").partition("-") for name in names if name.endswith(".dist-info"))
    return sorted(f"{name} {version}" for name, _, version in found if name in _OTHERS)


def packages_elsewhere(folder: Path) -> list[str]:
    """Our packages that Python would import from another folder than ours, with that folder."""
    return [
        f"{name} from {place}"
        for name in PACKAGES[1:]
        if (place := _folder_of(name)) is not None and place != folder
    ]


def _folder_of(package: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parents[1] if spec is not None and spec.origin else None


def describe_intrusion(folder: Path) -> str:
    """One sentence, or nothing where no other product is in the way."""
    if found := other_products(folder):
        return f"another product ({', '.join(found)}) is installed over QWED and replaces its files: {REMEDY}"
    if found := packages_elsewhere(folder):
        return f"another product hides packages of QWED (Python finds {', '.join(found)}): {REMEDY}"
    return ""
