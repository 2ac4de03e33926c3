"""Elsewhere the public vectors may be missing, and their tests say so; in CI they must run."""

import os
from pathlib import Path

VECTORS = Path(os.environ.get("QWED_VECTORS") or Path(__file__).parents[3] / "shared" / "vectors")


def test_in_ci_the_public_vectors_are_there() -> None:
    missing = [
        name for name in ("jcs", "json-parsing", "json-schema", "merkle") if not (VECTORS / name).is_dir()
    ]

    assert not missing or "CI" not in os.environ
