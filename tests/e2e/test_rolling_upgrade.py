"""Two versions of the gateway on one database: the old one goes on while the schema grows, or says why."""

import asyncio

import pytest
from tests.support.cluster import Cluster, approvals, verify_request
from tests.support.fakes import FakeClock
from tests.support.records import RING
from tests.support.services import shared

from qwed.domain.policy import DEFAULT_POLICY
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.postgres import open_postgres
from qwed.stores.postgres.schema import Migration, migrate, read_migrations, schema_version

pytestmark = pytest.mark.xdist_group("cluster")


def next_version(*statements: str, needs: int | None = None) -> list[Migration]:
    known = read_migrations()
    first = "-- expands" if needs is None else f"-- needs code that knows {needs:03d}"
    return [*known, Migration(len(known) + 1, f"{first}\n{';'.join(statements)};")]


def test_the_old_version_goes_on_while_the_next_one_adds_to_the_schema(tmp_path):
    url = shared().new_database()
    with Cluster(tmp_path, url, None, 1) as old:
        agent = old.register()
        assert approvals(old.together([verify_request(agent, "1+1", 1, "c1")])) == 1
        grown = next_version(
            "ALTER TABLE agents ADD COLUMN nickname text",
            "ALTER TABLE activities ADD COLUMN more bytea",
            "ALTER TABLE holds ADD COLUMN more integer DEFAULT 7",
            "CREATE TABLE extras (id bigint PRIMARY KEY)",
        )
        asyncio.run(migrate(url, grown))

        answers = old.together([verify_request(agent, "1+1", 1, f"after{n}") for n in range(8)])
        assert approvals(answers) == 8
        assert old.register()["status"] == "active"
    assert asyncio.run(schema_version(url)) == len(grown)
    # It may also start again: that is what a rolling upgrade does, and its way back.
    with Cluster(tmp_path, url, None, 1) as again:
        assert approvals(again.together([verify_request(agent, "1+1", 1, "again")])) == 1


def test_a_version_that_the_schema_has_left_behind_does_not_start(tmp_path):
    url = shared().new_database()
    newer = len(read_migrations()) + 1
    asyncio.run(migrate(url, next_version("DROP TABLE webhooks", needs=newer)))

    with pytest.raises(DatabaseUnusable, match="upgrade QWED"):
        open_postgres(url, DEFAULT_POLICY, FakeClock(), RING)


def test_every_file_says_whether_the_version_before_can_go_on():
    for migration in read_migrations():
        first = migration.script.splitlines()[0]
        assert first == "-- expands" or first.startswith("-- needs code that knows ")
