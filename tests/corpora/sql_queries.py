"""Queries as people ask them of small databases, and the databases to ask.

Schemas and queries are generated from a grammar; whether a query is right is SQLite's word
(`EXPLAIN` on the empty schema), never the engine's.
"""

import random
import sqlite3
from dataclasses import dataclass, field

_NOUNS = [
    "singer",
    "concert",
    "stadium",
    "student",
    "course",
    "teacher",
    "album",
    "invoice",
    "customer",
    "team",
]
_NUMBERS = ["age", "capacity", "year", "price", "salary", "score", "quantity", "height", "population", "rank"]
_TEXTS = ["name", "title", "location", "country", "theme", "status", "code", "email", "phone", "note"]
_WORDS = [
    "France",
    "it's",
    "airdrop",
    "DROP TABLE",
    "a -- b",
    "50%",
    "updated_at",
    "union select",
    "",
    "O'Brien",
]


@dataclass
class Table:
    name: str
    columns: dict[str, str]


@dataclass
class Database:
    tables: list[Table]
    ddl: str
    connection: sqlite3.Connection = field(repr=False)

    def refuses(self, query: str) -> str | None:
        """SQLite's own reason not to plan the query, or None."""
        try:
            self.connection.execute(f"EXPLAIN {query}").fetchall()
        except sqlite3.Error as error:
            return str(error)
        return None


def database(rng: random.Random) -> Database:
    tables = []
    for name in rng.sample(_NOUNS, rng.randint(2, 5)):
        columns = {f"{name}_id": "INTEGER"}
        columns |= dict.fromkeys(rng.sample(_TEXTS, rng.randint(1, 4)), "TEXT")
        columns |= {
            column: rng.choice(["INT", "REAL", "NUMERIC(10,2)"]) for column in rng.sample(_NUMBERS, 2)
        }
        if tables:
            other = rng.choice(tables)
            columns[f"{other.name}_id"] = "INTEGER"
        tables.append(Table(name, columns))
    ddl = "\n".join(map(_create, tables))
    connection = sqlite3.connect(":memory:")
    connection.executescript(ddl)
    return Database(tables, ddl, connection)


def _create(table: Table) -> str:
    columns = ",\n  ".join(f'"{name}" {kind}' for name, kind in table.columns.items())
    return f'CREATE TABLE "{table.name}" (\n  {columns},\n  PRIMARY KEY ("{table.name}_id")\n);'


def literal(rng: random.Random, kind: str) -> str:
    if kind == "TEXT":
        return "'" + rng.choice(_WORDS).replace("'", "''") + "'"
    return str(rng.choice([0, 1, 2014, 3.5, 100]))


class Asker:
    """One query at a time over one database."""

    def __init__(self, rng: random.Random, base: Database) -> None:
        self.rng = rng
        self.base = base
        self.aliases = 0

    def query(self) -> str:
        forms = [
            self._plain,
            self._plain,
            self._joined,
            self._joined,
            self._grouped,
            self._nested,
            self._exists,
        ]
        forms += [self._set, self._with, self._derived, self._window, self._case, self._scalar]
        return self.rng.choice(forms)()

    def _column(self, table: Table, kind: str | None = None) -> str:
        names = [
            name for name, of in table.columns.items() if kind is None or (of == "TEXT") == (kind == "TEXT")
        ]
        return self._styled(self.rng.choice(names or list(table.columns)))

    def _styled(self, name: str) -> str:
        return self.rng.choice([name, name, name.upper(), name.title(), f'"{name}"', f"`{name}`"])

    def _alias(self) -> str:
        self.aliases += 1
        return f"T{self.aliases}"

    def _condition(self, table: Table, prefix: str = "") -> str:
        column = self.rng.choice(list(table.columns))
        kind = table.columns[column]
        dot = f"{prefix}." if prefix else ""
        value = literal(self.rng, kind)
        return self.rng.choice(
            [
                f"{dot}{column} = {value}",
                f"{dot}{column} <> {value}",
                f"{dot}{column} > {value}",
                f"{dot}{column} BETWEEN {value} AND {literal(self.rng, kind)}",
                f"{dot}{column} IN ({value}, {literal(self.rng, kind)})",
                f"{dot}{column} IS NOT NULL",
                f"{dot}{column} LIKE '%a%'",
                f"NOT {dot}{column} = {value}",
                f"({dot}{column} = {value} OR {dot}{column} IS NULL)",
            ]
        )

    def _where(self, table: Table, prefix: str = "") -> str:
        conditions = [self._condition(table, prefix) for _ in range(self.rng.randint(1, 3))]
        glue = self.rng.choice([" AND ", " AND ", " OR "]) if _all_different(conditions) else " AND "
        start = "1=1 AND " if glue == " AND " and self.rng.random() < 0.15 else ""
        return " WHERE " + start + glue.join(conditions)

    def _tail(self, table: Table, prefix: str = "") -> str:
        dot = f"{prefix}." if prefix else ""
        order = f" ORDER BY {dot}{self._column(table)} {self.rng.choice(['ASC', 'DESC', ''])}"
        return self.rng.choice(["", order, order + " LIMIT 3", " LIMIT 5 OFFSET 2"])

    def _plain(self) -> str:
        table = self.rng.choice(self.base.tables)
        shown = self.rng.choice(
            [
                "*",
                "count(*)",
                f"DISTINCT {self._column(table)}",
                f"{self._column(table)}, {self._column(table)}",
            ]
        )
        return f"SELECT {shown} FROM {self._styled(table.name)}{self._where(table)}{self._tail(table)}"

    def _pair(self) -> tuple[Table, Table, str]:
        for table in self.rng.sample(self.base.tables, len(self.base.tables)):
            for other in self.base.tables:
                key = f"{other.name}_id"
                if other is not table and key in table.columns:
                    return table, other, key
        raise AssertionError("every database has a foreign key")

    def _joined(self) -> str:
        table, other, key = self._pair()
        left, right = self._alias(), self._alias()
        join = self.rng.choice(["JOIN", "LEFT JOIN", "INNER JOIN"])
        if self.rng.random() < 0.2:
            return (
                f"SELECT {key}, {right}.* FROM {table.name} {left} {join} {other.name} {right} USING ({key})"
            )
        return (
            f"SELECT {left}.{self._column(table)}, {right}.{self._column(other)} FROM {table.name} AS {left} "
            f"{join} {other.name} AS {right} ON {left}.{key} = {right}.{key}"
            f"{self._where(other, right)}{self._tail(table, left)}"
        )

    def _grouped(self) -> str:
        table = self.rng.choice(self.base.tables)
        column, number = self._column(table), self._column(table, "NUMBER")
        total = self.rng.choice(["SUM", "AVG", "MAX", "MIN", "COUNT"])
        having = self.rng.choice(["", " HAVING COUNT(*) > 2", f" HAVING {total}({number}) > 10"])
        return (
            f"SELECT {column}, {total}({number}) AS total FROM {table.name} GROUP BY {column}{having} "
            f"ORDER BY {self.rng.choice(['total', 'COUNT(*)', '2', column])} DESC"
        )

    def _nested(self) -> str:
        table, other, key = self._pair()
        verb = self.rng.choice(["IN", "NOT IN"])
        return (
            f"SELECT {self._column(table)} FROM {table.name} WHERE {key} {verb} "
            f"(SELECT {key} FROM {other.name}{self._where(other)})"
        )

    def _exists(self) -> str:
        table, other, key = self._pair()
        left, right = self._alias(), self._alias()
        verb = self.rng.choice(["EXISTS", "NOT EXISTS"])
        return (
            f"SELECT {left}.{self._column(table)} FROM {table.name} {left} WHERE {verb} (SELECT 1 "
            f"FROM {other.name} {right} WHERE {right}.{key} = {left}.{key} "
            f"AND {self._condition(other, right)})"
        )

    def _set(self) -> str:
        first, second = self.rng.choice(self.base.tables), self.rng.choice(self.base.tables)
        verb = self.rng.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
        left, right = self._column(first), self._column(second)
        return f"SELECT {left} FROM {first.name}{self._where(first)} {verb} SELECT {right} FROM {second.name}"

    def _with(self) -> str:
        table = self.rng.choice(self.base.tables)
        column, number = self._column(table), self._column(table, "NUMBER")
        return (
            f"WITH totals AS (SELECT {column} AS k, SUM({number}) AS s FROM {table.name} GROUP BY {column}) "
            f"SELECT t.k, t.s FROM totals AS t WHERE t.s > (SELECT AVG(s) FROM totals) ORDER BY s DESC"
        )

    def _derived(self) -> str:
        table = self.rng.choice(self.base.tables)
        column, number = self._column(table), self._column(table, "NUMBER")
        return (
            f"SELECT x.k, x.m FROM (SELECT {column} AS k, MAX({number}) AS m FROM {table.name} "
            f"GROUP BY {column}) x WHERE x.m > 3 -- the larger ones"
        )

    def _window(self) -> str:
        table = self.rng.choice(self.base.tables)
        column, number = self._column(table), self._column(table, "NUMBER")
        return (
            f"SELECT {column}, RANK() OVER (PARTITION BY {column} ORDER BY {number} DESC) AS place, "
            f"SUM({number}) OVER () AS everything FROM {table.name}"
        )

    def _case(self) -> str:
        table = self.rng.choice(self.base.tables)
        number = self._column(table, "NUMBER")
        return (
            f"SELECT CAST(SUM(CASE WHEN {self._condition(table)} THEN 1 ELSE 0 END) AS REAL) / COUNT(*), "
            f"ROUND(AVG({number}), 2), IIF({number} > 3, 'many', 'few') AS size FROM {table.name} /* share */"
        )

    def _scalar(self) -> str:
        table = self.rng.choice(self.base.tables)
        number = self._column(table, "NUMBER")
        return (
            f"SELECT * FROM {table.name} WHERE {number} = (SELECT MAX({number}) FROM {table.name}) "
            f"OR {number} < (SELECT AVG({number}) FROM {table.name})"
        )


def _all_different(conditions: list[str]) -> bool:
    """Two conditions on one column may together be true of every row, as `x = 1 OR x <> 1` is."""
    columns = [condition.strip("(").removeprefix("NOT ").split()[0] for condition in conditions]
    return len(set(columns)) == len(columns)


def misnamed(rng: random.Random, base: Database, query: str) -> str:
    """The query with one name spelled wrong."""
    names = [name for table in base.tables for name in (table.name, *table.columns) if name in query]
    name = rng.choice(names)
    return query.replace(name, f"{name}x", 1) if rng.random() < 0.5 else query.replace(name, f"no_{name}")


def cases(seed: int, count: int) -> list[tuple[Database, str]]:
    rng = random.Random(seed)
    found: list[tuple[Database, str]] = []
    while len(found) < count:
        base = database(rng)
        asker = Asker(rng, base)
        found += [(base, asker.query()) for _ in range(20)]
    return found[:count]
