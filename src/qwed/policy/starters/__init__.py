"""Policies to start from, each with its tests. Texts of our own, which a person reads in two minutes."""

from importlib import resources
from typing import Final

STARTERS: Final = ("minimal", "office", "coding", "payments", "regulated")


def read_starter(name: str) -> tuple[str, str]:
    """The policy and its tests."""
    folder = resources.files(__name__)
    return (folder / f"{name}.yaml").read_text("utf-8"), (folder / f"{name}.test.yaml").read_text("utf-8")
