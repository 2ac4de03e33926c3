"""Right queries of every dialect against one schema: none of them raises a false alarm."""

import pytest

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.engines.sql import SqlEngine

ENGINE = SqlEngine()
SCHEMA = """
CREATE TABLE users (id int, name text, email text, tags text[], data jsonb, created_at timestamp,
                    active boolean, manager_id int);
CREATE TABLE orders (id bigint, user_id int, total numeric(10, 2), status varchar(20), created_at timestamptz,
                     items jsonb);
CREATE TABLE events (user_id int, ts timestamp, kind text);
"""
QUERIES = {
    "postgres": """
SELECT u.id, x.total FROM users u CROSS JOIN LATERAL (SELECT o.total FROM orders o WHERE o.user_id = u.id
ORDER BY o.created_at DESC LIMIT 1) x;
SELECT u.name, tag FROM users u, unnest(u.tags) AS tag WHERE tag LIKE 'a%';
SELECT d::date, COUNT(o.id) FROM generate_series('2024-01-01'::date, '2024-01-31'::date, '1 day') d LEFT
JOIN orders o ON o.created_at::date = d::date GROUP BY d;
SELECT g.day FROM generate_series(1, 10) AS g(day);
SELECT data->>'city' AS city, COUNT(*) FROM users GROUP BY city ORDER BY 2 DESC;
SELECT DISTINCT ON (user_id) user_id, total FROM orders ORDER BY user_id, created_at DESC;
SELECT COUNT(*) FILTER (WHERE status = 'paid') AS paid, SUM(total) OVER w FROM orders WINDOW w AS (PARTITION
BY user_id);
SELECT v.a, u.name FROM (VALUES (1, 'x'), (2, 'y')) AS v(a, b) JOIN users u ON u.id = v.a;
SELECT u FROM users u;
SELECT row_to_json(u) FROM users u;
SELECT COUNT(u.*) FROM users u;
SELECT item->>'sku' FROM orders o, jsonb_array_elements(o.items) AS item;
SELECT key, value FROM users, jsonb_each_text(data);
WITH RECURSIVE t AS (SELECT id, manager_id, 1 AS lvl FROM users WHERE manager_id IS NULL UNION ALL SELECT
u.id, u.manager_id, t.lvl + 1 FROM users u JOIN t ON u.manager_id = t.id) SELECT * FROM t WHERE lvl < 5;
INSERT INTO users (id, name) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, active =
users.active RETURNING id, name;
UPDATE orders o SET status = 'x' FROM users u WHERE u.id = o.user_id AND u.active;
DELETE FROM orders USING users u WHERE u.id = orders.user_id AND u.name = 'x';
SELECT name FROM users WHERE created_at > now() - interval '1 day' AND active IS TRUE AND id =
ANY(ARRAY[1,2]);
SELECT extract(year FROM created_at) AS y, date_trunc('month', created_at) m FROM orders GROUP BY y, m;
SELECT id FROM users WHERE (id, name) IN (SELECT user_id, status FROM orders);
SELECT a.id FROM users a JOIN users b USING (email) WHERE a.id < b.id;
SELECT email, COUNT(*) c FROM users GROUP BY 1 HAVING COUNT(*) > 1;
SELECT ctid, xmin FROM users;
SELECT public.users.name FROM public.users;
SELECT max(total) - min(total) AS spread FROM orders WHERE total BETWEEN 1 AND '100';
SELECT string_agg(u.name, ',' ORDER BY u.name) FROM users u;
SELECT CASE u.active WHEN true THEN 'y' ELSE 'n' END FROM users u;
MERGE INTO users t USING orders s ON t.id = s.user_id WHEN MATCHED THEN UPDATE SET name = s.status WHEN NOT
MATCHED THEN INSERT (id, name) VALUES (s.user_id, s.status);
SELECT * FROM users TABLESAMPLE SYSTEM (10);
SELECT name AS "Full Name" FROM users ORDER BY "Full Name";
SELECT u.name FROM users AS u WHERE EXISTS (SELECT FROM orders WHERE user_id = u.id);
SELECT t.kind, t.n FROM (SELECT kind, count(*) AS n FROM events GROUP BY kind) t;
SELECT e1.user_id FROM events e1 LEFT JOIN events e2 ON e1.user_id = e2.user_id AND e2.ts > e1.ts WHERE
e2.user_id IS NULL;
(SELECT id FROM users ORDER BY id LIMIT 1) UNION ALL (SELECT id FROM orders ORDER BY id LIMIT 1) ORDER BY id
""",
    "mysql": """
SELECT u.name, o.total FROM users u STRAIGHT_JOIN orders o ON o.user_id = u.id;
SELECT u.name AS n, COUNT(*) AS c FROM users u GROUP BY n HAVING c > 1 ORDER BY c;
UPDATE users u JOIN orders o ON o.user_id = u.id SET u.name = o.status WHERE o.id = 1;
DELETE u FROM users u JOIN orders o ON o.user_id = u.id WHERE o.id = 1;
INSERT INTO users (id, name) VALUES (1, 'x') ON DUPLICATE KEY UPDATE name = VALUES(name);
SELECT `u`.`name` FROM `users` `u` WHERE `u`.`id` IN (1,2) LIMIT 0, 5;
SELECT DATE_FORMAT(o.created_at, "%Y") y FROM orders o GROUP BY y WITH ROLLUP;
SELECT data->'$.a', JSON_EXTRACT(data, '$.b') FROM users;
SELECT @n := id FROM users
""",
    "bigquery": """
SELECT u.data.city, ARRAY_LENGTH(u.tags) FROM `p.d.users` AS u;
SELECT tag, off FROM users, UNNEST(tags) AS tag WITH OFFSET AS off;
SELECT * EXCEPT (name), name AS n FROM users;
SELECT id, SUM(total) AS s FROM orders GROUP BY id QUALIFY ROW_NUMBER() OVER (ORDER BY s DESC) = 1;
SELECT data.a.b FROM users;
WITH t AS (SELECT STRUCT(id AS a, name AS b) AS s FROM users) SELECT s.a, t.s.b FROM t
""",
    "snowflake": """
SELECT u.data:city::string AS city FROM users u WHERE city = 'x';
SELECT f.value:sku::string, f.index FROM orders o, LATERAL FLATTEN(input => o.items) f;
SELECT name, LENGTH(name) AS l, l * 2 AS d FROM users;
SELECT $1, $2 FROM VALUES (1, 'a');
SELECT * FROM orders PIVOT (SUM(total) FOR status IN ('a', 'b')) AS p ORDER BY user_id
""",
    "tsql": """
SELECT TOP 5 u.name, x.n FROM users u CROSS APPLY (SELECT COUNT(*) AS n FROM orders o WHERE o.user_id =
u.id) x;
WITH c AS (SELECT id, 1 AS lvl FROM users WHERE manager_id IS NULL UNION ALL SELECT u.id, c.lvl + 1 FROM
users u JOIN c ON u.manager_id = c.id) SELECT id, lvl FROM c;
UPDATE u SET u.name = 'x' FROM users u JOIN orders o ON o.user_id = u.id WHERE o.id = 1;
DELETE u FROM users u WHERE u.id = 1;
SELECT [name] AS [n] FROM [dbo].[users] ORDER BY [n] OFFSET 0 ROWS FETCH NEXT 5 ROWS ONLY;
SELECT a, b FROM (SELECT status, total, user_id FROM orders) s PIVOT (SUM(total) FOR status IN ([a], [b])) p;
INSERT INTO users (id, name) OUTPUT inserted.id VALUES (1, 'x')
""",
    "sqlite": """
SELECT name FROM users UNION SELECT kind FROM events ORDER BY kind;
SELECT id AS a FROM users UNION ALL SELECT id FROM orders ORDER BY a, id
""",
}
CASES = [(dialect, query) for dialect, queries in QUERIES.items() for query in queries.strip().split(";\n")]


@pytest.mark.parametrize(("dialect", "query"), CASES)
def test_a_right_query_is_verified_with_and_without_its_dialect(dialect: str, query: str) -> None:
    for parameters in ({"schema": SCHEMA, "dialect": dialect}, {"schema": SCHEMA}):
        finding = ENGINE.verify(Action("execute_sql", query, parameters=parameters))

        assert finding.status is Status.VERIFIED, finding.evidence
