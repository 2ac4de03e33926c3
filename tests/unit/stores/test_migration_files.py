"""Files of the schema are applied in the order of their numbers, each once."""

from importlib import resources

import pytest


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_every_migration_has_a_number_of_its_own_and_none_is_missing(database):
    folder = resources.files(f"qwed.stores.migrations.{database}")
    numbers = sorted(int(entry.name[:3]) for entry in folder.iterdir() if entry.name.endswith(".sql"))
    assert numbers == list(range(1, len(numbers) + 1))
