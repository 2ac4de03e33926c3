-- name: accounts
-- What admission reads, one row per agent and conversation. The version is read with it, in one snapshot.
WITH accounts AS MATERIALIZED (
    SELECT g.agent_id, coalesce(t.version, 0) AS version, a.body,
           coalesce(d.requests, 0) AS requests, coalesce(d.cost_nano, 0) AS cost, coalesce(d.tokens, 0) AS tokens,
           coalesce((SELECT s.upto FROM seconds AS s WHERE s.agent_id = g.agent_id AND s.second >= $4
                     ORDER BY s.second DESC LIMIT 1)
                  - (SELECT s.before FROM seconds AS s WHERE s.agent_id = g.agent_id AND s.second >= $4
                     ORDER BY s.second LIMIT 1), 0) AS hour,
           h.held, h.today, h.cost AS cost_held, h.tokens AS tokens_held,
           (SELECT array_agg(o.fingerprint) FROM outcomes AS o
            WHERE o.agent_id = g.agent_id AND o.result = 'unknown') AS unsettled,
           coalesce(st.actions, 0) AS actions, st.conduct
    FROM (SELECT DISTINCT unnest($1::text[]) AS agent_id) AS g
    LEFT JOIN turns AS t ON t.key = 'a:' || g.agent_id
    LEFT JOIN agents AS a ON a.agent_id = g.agent_id
    LEFT JOIN standings AS st ON st.agent_id = g.agent_id
    LEFT JOIN days AS d ON d.kind = 'agent' AND d.subject = g.agent_id AND d.day = $3
    CROSS JOIN LATERAL (
        SELECT count(*) AS held, count(*) FILTER (WHERE x.at_ms / 86400000 = $3) AS today,
               coalesce(sum(x.cost_nano), 0)::bigint AS cost, coalesce(sum(x.tokens), 0)::bigint AS tokens
        FROM holds AS x WHERE x.agent_id = g.agent_id
    ) AS h
)
SELECT a.*, c.conversation_id, s.numbers, s.fingerprints, s.states, s.approved, f.failed,
       s.last_node, s.last_wid, r.token, r.step, r.expires_ms
FROM unnest($1::text[], $2::text[]) AS c (agent_id, conversation_id)
JOIN accounts AS a USING (agent_id)
LEFT JOIN LATERAL (
    SELECT array_agg(x.step ORDER BY x.step) AS numbers,
           array_agg(x.fingerprint ORDER BY x.step) AS fingerprints,
           array_agg(x.state ORDER BY x.step) AS states,
           array_agg(x.approved ORDER BY x.step) AS approved,
           (array_agg(x.activity_id ORDER BY x.step DESC))[1] AS last_node,
           (array_agg(x.wid ORDER BY x.step DESC))[1] AS last_wid
    FROM steps AS x
    WHERE x.agent_id = c.agent_id AND x.conversation_id = c.conversation_id
) AS s ON true
LEFT JOIN LATERAL (
    -- Of the last steps, which are those that a run of repeats looks at.
    SELECT array_agg(x.step) AS failed
    FROM (SELECT y.step, y.activity_id FROM steps AS y
          WHERE y.agent_id = c.agent_id AND y.conversation_id = c.conversation_id
          ORDER BY y.step DESC LIMIT 200) AS x
    JOIN outcomes AS o ON o.activity_id = x.activity_id AND o.result = 'failure'
) AS f ON true
LEFT JOIN holds AS r ON r.agent_id = c.agent_id AND r.conversation_id = c.conversation_id

-- name: principals
SELECT g.principal_id, coalesce(t.version, 0) AS version, coalesce(d.requests, 0) AS requests,
       coalesce(d.cost_nano, 0) AS cost, coalesce(d.tokens, 0) AS tokens, h.held, h.today,
       h.cost AS cost_held, h.tokens AS tokens_held
FROM unnest($1::text[]) AS g (principal_id)
LEFT JOIN turns AS t ON t.key = 'p:' || g.principal_id
LEFT JOIN days AS d ON d.kind = 'principal' AND d.subject = g.principal_id AND d.day = $2
CROSS JOIN LATERAL (
    SELECT count(*) AS held, count(*) FILTER (WHERE x.at_ms / 86400000 = $2) AS today,
           coalesce(sum(x.cost_nano), 0)::bigint AS cost, coalesce(sum(x.tokens), 0)::bigint AS tokens
    FROM holds AS x WHERE x.principal_id = g.principal_id
) AS h

-- name: hour
SELECT second, upto - before FROM seconds WHERE agent_id = $1 AND second >= $2 ORDER BY second

-- name: crossings
SELECT count(DISTINCT conversation_id) FROM crossings
WHERE agent_id = $1 AND fingerprint = ANY ($2::bytea[]) AND at_ms > $3 AND conversation_id <> $4

-- name: hold_plain
SELECT * FROM hold_plain_versioned($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
    $18, $19, $20, $21, $22)

-- name: hold_unchanged
SELECT hold_unchanged($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)

-- name: release_holds
SELECT release_holds($1, $2)

-- name: record_decisions
SELECT CASE WHEN require_policy($44) THEN
    record_sealed_decisions($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
    $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41,
    $42, $43) END

-- name: require_policy
SELECT require_policy($1)

-- name: follow_policy
SELECT follow_policy($1)

-- name: newest_policy_change
SELECT max(number) FROM policy_changes

-- name: policy_changes
SELECT body FROM policy_changes WHERE number < $1 ORDER BY number DESC LIMIT $2

-- name: settle_commits
SELECT settle_commits($1, $2, $3)

-- name: lock_refusals
SELECT pg_advisory_xact_lock(7932005, number) FROM (
    SELECT DISTINCT hashtext(agent_id) AS number FROM unnest($1::text[]) AS g (agent_id) ORDER BY 1
) AS numbers

-- name: refused_minutes
SELECT body FROM refused_minutes WHERE agent_id = ANY ($1::text[]) AND minute >= $2

-- name: put_refused_minutes
INSERT INTO refused_minutes SELECT * FROM unnest($1::text[], $2::bigint[], $3::boolean[], $4::bytea[])
ON CONFLICT (agent_id, minute) DO UPDATE SET is_unstated = excluded.is_unstated, body = excluded.body

-- name: state_minute
UPDATE refused_minutes SET is_unstated = false, body = $4 WHERE agent_id = $1 AND minute = $2 AND body = $3

-- name: refused_minutes_due
SELECT body FROM refused_minutes WHERE is_unstated AND minute < $1 ORDER BY minute LIMIT $2

-- name: forget_refused_minutes
DELETE FROM refused_minutes WHERE minute < $1 AND NOT is_unstated

-- name: claim_key
SELECT * FROM claim_key($1, $2, $3, $4, $5, $6)

-- name: give_up_key
DELETE FROM key_claims WHERE agent_id = $1 AND key_hash = $2 AND token = $3

-- name: drop_claims_of
DELETE FROM key_claims WHERE owner = ANY ($1::text[])

-- name: drop_expired_claims
DELETE FROM key_claims WHERE expires_ms < $1

-- name: agents
SELECT body FROM agents
WHERE agent_id > $1 AND status <> 'deregistered' AND ($2::text IS NULL OR principal_id = $2)
ORDER BY agent_id LIMIT $3

-- name: principal_standing
SELECT count(*), coalesce(bool_or(violation), false) FROM agents
WHERE principal_id = $1 AND status <> 'deregistered'

-- name: activities_summary
SELECT decision, count(*), sum(cost_nano)::numeric FROM activities
WHERE agent_id = $1 AND ($2::bigint IS NULL OR at_ms >= $2) AND ($3::bigint IS NULL OR at_ms < $3)
  AND ($4::text IS NULL OR decision = $4) AND ($5::text IS NULL OR action_type = $5)
  AND ($6::text IS NULL OR conversation_id = $6)
GROUP BY decision

-- name: counted_until
SELECT seq, coalesce((SELECT max(seq) FROM ledger), 0) - seq FROM counted_until

-- name: agent_totals
-- As `activities_summary` of everything: what the leader has counted up to an entry, and what it has not.
SELECT decision, sum(entries)::bigint, sum(cost_nano)::numeric FROM (
    SELECT decision, entries, cost_nano FROM agent_days WHERE agent_id = $1
    UNION ALL
    SELECT a.decision, 1, a.cost_nano FROM (
        SELECT subject, at_ms FROM ledger WHERE seq > $3
        UNION ALL SELECT subject, at_ms FROM pending WHERE place = 'activities'
    ) AS late
    CROSS JOIN LATERAL (SELECT * FROM activities AS x
        WHERE x.activity_id = late.subject AND x.at_ms = late.at_ms LIMIT 1) AS a
    WHERE a.agent_id = $1
) AS counted
WHERE $2::text IS NULL OR decision = $2
GROUP BY decision HAVING sum(entries) > 0

-- name: activities_page
SELECT a.id, a.payload, o.body FROM activities AS a LEFT JOIN outcomes AS o USING (activity_id)
WHERE a.agent_id = $1 AND ($2::bigint IS NULL OR a.at_ms >= $2) AND ($3::bigint IS NULL OR a.at_ms < $3)
  AND ($4::text IS NULL OR a.decision = $4) AND ($5::text IS NULL OR a.action_type = $5)
  AND ($6::text IS NULL OR a.conversation_id = $6) AND ($7::bigint IS NULL OR a.id < $7)
ORDER BY a.id DESC LIMIT $8

-- name: activity
SELECT a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.action_type, a.decision, a.error_code,
       a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.payload, a.par, a.wid, o.body
FROM activities AS a LEFT JOIN outcomes AS o USING (activity_id) WHERE a.activity_id = $1

-- name: approvals
SELECT body FROM approvals
WHERE approval_id < $1 AND ($2::text IS NULL OR principal_id = $2) AND ($3::text IS NULL OR agent_id = $3)
  AND ($4::text IS NULL
       OR ($4 IN ('open', 'approved') AND status = $4 AND ends_ms > $5)
       OR ($4 = 'expired' AND ends_ms <= $5)
       OR ($4 NOT IN ('open', 'approved', 'expired') AND status = $4))
ORDER BY approval_id DESC LIMIT $6

-- name: keys
SELECT body FROM keys WHERE $1::text IS NULL OR principal_id = $1 ORDER BY key_id

-- name: webhooks
SELECT body FROM webhooks WHERE $1::text IS NULL OR principal_id = $1 ORDER BY webhook_id

-- name: ping
SELECT pg_is_in_recovery() FROM (SELECT 1) AS one LEFT JOIN LATERAL (SELECT seq FROM ledger LIMIT 1) AS l ON true

-- name: open_approvals
SELECT ends_ms FROM approvals WHERE agent_id = $1 AND status = 'open' AND ends_ms > $2

-- name: approval_version
SELECT version FROM approvals WHERE approval_id = $1

-- name: outcome_result
SELECT result FROM outcomes WHERE activity_id = $1

-- name: drop_deliveries
DELETE FROM deliveries WHERE webhook_id = $1

-- name: notify
SELECT pg_notify('qwed_changes', $1)

-- name: release_own
SELECT release_holds(array_agg(DISTINCT 'a:' || agent_id), array_agg(token)) FROM holds WHERE owner = $1
HAVING count(*) > 0

-- name: live
-- As long as the session of a process lasts, it lives.
SELECT pg_advisory_lock_shared(7932004, $1)

-- name: absent_owners
SELECT owner FROM (SELECT owner FROM holds UNION SELECT owner FROM key_claims) AS h
WHERE owner LIKE 'w%' AND NOT EXISTS (
    SELECT 1 FROM pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.classid = 7932004 AND l.objsubid = 2
      AND l.objid::text = substr(h.owner, 2)
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))

-- name: drop_holds_of
SELECT drop_holds(array_agg(token)) FROM holds WHERE owner = ANY ($1::text[])

-- name: drop_expired
SELECT drop_holds(array_agg(token)) FROM (SELECT token FROM holds WHERE expires_ms < $1 LIMIT 200) AS late

-- name: waiting_for_the_ledger
-- With what each is about, and whether the ledger has it already.
SELECT p.id, p.at_ms, p.subject, p.commitment, p.place, p.source, p.number, p.mac,
       EXISTS (SELECT 1 FROM ledger AS l WHERE l.subject = p.subject
               AND (p.place IN ('activities', 'ects') OR l.commitment = p.commitment)) AS is_known,
       e.token, e.salt AS token_salt, a.salt,
       a.activity_id, a.agent_id, a.principal_id, a.at_ms AS acted_ms, a.action_type, a.decision, a.error_code,
       a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.payload, a.par, a.wid
FROM (SELECT * FROM pending ORDER BY id LIMIT $1) AS p
LEFT JOIN LATERAL (SELECT * FROM activities AS x
    WHERE p.place = 'activities' AND x.activity_id = p.subject AND x.at_ms = p.at_ms LIMIT 1) AS a ON true
LEFT JOIN LATERAL (SELECT * FROM ects AS x WHERE p.place = 'ects' AND x.jti = p.subject LIMIT 1) AS e ON true
ORDER BY p.id

-- name: record_sources
SELECT source, body, mac FROM record_sources

-- name: forget_sources
DELETE FROM record_sources AS s WHERE at_ms < $1 AND NOT EXISTS (
    SELECT 1 FROM pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.classid = 7932004 AND l.objsubid = 2
      AND l.objid::text = substr(split_part(s.source, '-', 1), 2)
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))

-- name: lives
SELECT EXISTS (
    SELECT 1 FROM pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.classid = 7932004 AND l.objsubid = 2
      AND l.objid::text = substr(split_part($1, '-', 1), 2)
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))

-- name: sealed_since
SELECT size, mac FROM sealed_since

-- name: put_sealed_since
INSERT INTO sealed_since VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: unsealed_waiting
SELECT id, at_ms, subject, commitment FROM pending WHERE mac IS NULL ORDER BY id

-- name: seal_waiting
UPDATE pending SET place = $2, source = $3, number = $4, mac = $5 WHERE id = $1

-- name: change_sealed_since
UPDATE sealed_since SET mac = $1

-- name: named_record_keys
SELECT encode(name, 'hex') AS name, count(*) AS rows FROM (
    SELECT substr(mac, 1, 8) AS name FROM pending UNION ALL SELECT substr(mac, 1, 8) FROM agents
    UNION ALL SELECT substr(mac, 1, 8) FROM keys) AS names
WHERE name IS NOT NULL GROUP BY 1 ORDER BY 1

-- name: refused_entries
SELECT id, found_ms, reason, subject, source FROM refused_entries ORDER BY id

-- name: ledger_lag
SELECT (SELECT at_ms FROM pending ORDER BY id LIMIT 1),
       (SELECT count(*) FROM (SELECT 1 FROM pending LIMIT 100000) AS waiting)

-- name: ledger_tail
SELECT seq, at_ms, subject, commitment, previous, hash FROM ledger ORDER BY seq DESC LIMIT $1

-- name: append_ledger
SELECT append_vetted($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)

-- name: forget_remembered
DELETE FROM remembered WHERE expires_ms < $1

-- name: keep_shared
INSERT INTO shared_facts VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: shared
SELECT body FROM shared_facts WHERE digest = $1

-- name: all_shared
SELECT digest, body FROM shared_facts

-- name: permit_version
SELECT version FROM permits WHERE jti = $1 FOR UPDATE

-- name: put_permit
INSERT INTO permits (jti, activity_id, agent_id, audience, action_hash, state, expires_ms, version, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (jti) DO UPDATE SET state = excluded.state, version = excluded.version, body = excluded.body

-- name: put_finding
INSERT INTO permit_findings (finding_id, principal_id, agent_id, kind, at_ms, body)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: permit
SELECT body FROM permits WHERE jti = $1

-- name: permits_of
SELECT body FROM permits WHERE activity_id = $1

-- name: unused_permits
SELECT body FROM permits
WHERE agent_id = $1 AND audience = $2 AND action_hash = $3 AND state = 'issued' AND expires_ms > $4 LIMIT 2

-- name: permits_due
SELECT body FROM permits WHERE state = 'issued' AND expires_ms < $1 ORDER BY expires_ms LIMIT $2

-- name: count_findings
SELECT kind, count(*) FROM permit_findings
WHERE at_ms >= $3 AND at_ms < $4 AND ($1::text IS NULL OR principal_id = $1) AND ($2::text IS NULL OR agent_id = $2) GROUP BY kind

-- name: findings
SELECT body FROM permit_findings
WHERE ($1::text IS NULL OR principal_id = $1) AND ($2::text IS NULL OR agent_id = $2)
  AND ($3::text IS NULL OR finding_id < $3) ORDER BY finding_id DESC LIMIT $4

-- name: redact_permits
DELETE FROM permits WHERE activity_id = $1

-- name: forget_permits
DELETE FROM permits WHERE jti IN
    (SELECT jti FROM permits WHERE expires_ms < $1 AND state <> 'issued' LIMIT 1000)

-- name: forget_findings
DELETE FROM permit_findings WHERE at_ms < $1

-- name: keep_salt
INSERT INTO heard_keys VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING

-- name: heard_salt
SELECT salt FROM heard_keys WHERE agent_id = $1 AND conversation_id = $2

-- name: keep_heard
INSERT INTO heard (agent_id, conversation_id, report_id, body) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING

-- name: heard
SELECT number, body FROM heard WHERE agent_id = $1 AND conversation_id = $2 AND number > $3 ORDER BY number

-- name: forget_heard
WITH gone AS (DELETE FROM heard_keys WHERE agent_id = $1 AND conversation_id = $2)
DELETE FROM heard WHERE agent_id = $1 AND conversation_id = $2

-- name: forget_old_heard
WITH gone AS (DELETE FROM heard_keys WHERE at_ms < $1 RETURNING agent_id, conversation_id)
DELETE FROM heard USING gone
WHERE heard.agent_id = gone.agent_id AND heard.conversation_id = gone.conversation_id

-- name: end_session
WITH gone AS (DELETE FROM sign_ins WHERE session_id = $1)
INSERT INTO ended_sessions VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: is_session_ended
SELECT EXISTS (SELECT 1 FROM ended_sessions WHERE session_id = $1)

-- name: forget_sessions
WITH gone AS (DELETE FROM sign_ins WHERE expires_ms < $1)
DELETE FROM ended_sessions WHERE expires_ms < $1

-- name: keep_sign_in
INSERT INTO sign_ins SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM ended_sessions WHERE session_id = $1)
ON CONFLICT (session_id) DO UPDATE SET body = excluded.body

-- name: sign_in
SELECT body FROM sign_ins WHERE session_id = $1
    AND NOT EXISTS (SELECT 1 FROM ended_sessions WHERE session_id = $1)

-- name: forget_seconds
DELETE FROM seconds WHERE second < $1

-- name: forget_crossings
DELETE FROM crossings WHERE at_ms < $1

-- name: forget_activities
WITH gone AS (
    DELETE FROM activities WHERE (activity_id, at_ms) IN
        (SELECT activity_id, at_ms FROM activities WHERE at_ms < $1 LIMIT 1000)
    RETURNING agent_id, at_ms, decision, cost_nano
), sums AS (
    SELECT agent_id, (at_ms / 86400000)::integer AS day, decision, count(*) AS entries, sum(cost_nano) AS cost
    FROM gone GROUP BY 1, 2, 3
)
UPDATE agent_days AS d SET entries = d.entries - s.entries, cost_nano = d.cost_nano - s.cost
FROM sums AS s WHERE d.agent_id = s.agent_id AND d.day = s.day AND d.decision = s.decision

-- name: count_entries
SELECT count_entries($1)

-- name: redact_token
UPDATE ects SET token = NULL, salt = NULL WHERE jti = $1

-- name: redact_steps
UPDATE steps SET fingerprint = CASE WHEN octet_length(a.fingerprint) = 32 THEN $2::bytea ELSE '\x02'::bytea || $2 END
FROM activities AS a
WHERE a.activity_id = $1 AND a.fingerprint <> '' AND steps.agent_id = a.agent_id
  AND steps.conversation_id = a.conversation_id AND steps.fingerprint = a.fingerprint

-- name: redact_crossings
DELETE FROM crossings USING activities AS a
WHERE a.activity_id = $1 AND a.fingerprint <> '' AND crossings.agent_id = a.agent_id
  AND crossings.fingerprint = a.fingerprint

-- name: redact_activity
UPDATE activities SET action_type = $1, conversation_id = $2, fingerprint = '', salt = NULL, payload = $3
WHERE activity_id = $4

-- name: redact_remembered
DELETE FROM remembered WHERE agent_id = $1 AND position($2::bytea IN body) > 0

-- name: forget_steps
DELETE FROM steps WHERE agent_id = $1 AND conversation_id = $2

-- name: forget_conversation_crossings
DELETE FROM crossings WHERE agent_id = $1 AND conversation_id = $2

-- name: ledger_state
SELECT (SELECT seq FROM ledger ORDER BY seq DESC LIMIT 1), (SELECT hash FROM ledger ORDER BY seq DESC LIMIT 1),
       (SELECT at_ms FROM ledger ORDER BY seq LIMIT 1), (SELECT at_ms FROM ledger ORDER BY seq DESC LIMIT 1),
       adopted.count, adopted.at_ms
FROM (SELECT count(*) AS count, max(at_ms) AS at_ms FROM ledger
      WHERE subject >= 'adopt_state:' AND subject < 'adopt_state;') AS adopted

-- name: survey
SELECT l.at_ms >= $3 AND l.at_ms < $4 AS is_in_period,
       a.activity_id IS NULL AND e.jti IS NULL AS is_removed,
       a.at_ms, a.agent_id, a.decision, a.error_code, a.action_type, a.payload, a.cost_nano, a.tokens, o.body
FROM ledger AS l LEFT JOIN activities AS a ON a.activity_id = l.subject AND a.at_ms = l.at_ms
LEFT JOIN outcomes AS o ON o.activity_id = a.activity_id
LEFT JOIN ects AS e ON e.jti = l.subject
WHERE l.seq > $1 AND l.seq <= $2 AND l.subject NOT LIKE 'state:%' AND l.subject NOT LIKE 'adopt_state:%'
  AND (a.activity_id IS NULL
       OR (a.at_ms >= $3 AND a.at_ms < $4 AND ($5::text IS NULL OR a.principal_id = $5)
           AND ($6::text IS NULL OR a.agent_id = $6)))
ORDER BY l.seq

-- name: newest_waiting
SELECT max(id) FROM pending

-- name: oldest_waiting
SELECT min(id) FROM pending

-- name: name_ledger
INSERT INTO ledger_name VALUES ($1) ON CONFLICT DO NOTHING

-- name: ledger_name
SELECT name FROM ledger_name

-- name: ledger_size
SELECT coalesce(max(seq), 0) FROM ledger

-- name: last_checkpoint
SELECT size, token, cosignatures, at_ms FROM checkpoints ORDER BY size DESC LIMIT 1

-- name: checkpoint
SELECT size, token, cosignatures, at_ms FROM checkpoints WHERE size = $1

-- name: cosign
INSERT INTO checkpoints (size, at_ms, token, cosignatures) VALUES ($1, $2, $3, $4)
ON CONFLICT (size) DO UPDATE SET cosignatures = excluded.cosignatures

-- name: lock_checkpoint
SELECT cosignatures FROM checkpoints WHERE size = $1 FOR UPDATE

-- name: entries
SELECT seq, at_ms, subject, commitment, previous, hash FROM ledger WHERE seq > $1 ORDER BY seq LIMIT $2

-- name: owners
SELECT coalesce(a.principal_id, e.principal_id)
FROM ledger AS l LEFT JOIN activities AS a ON a.activity_id = l.subject AND a.at_ms = l.at_ms
LEFT JOIN ects AS e ON e.jti = l.subject
WHERE l.seq > $1 ORDER BY l.seq LIMIT $2

-- name: leaves
SELECT hash FROM ledger WHERE seq > $1 AND seq <= $2 ORDER BY seq

-- name: tiles
SELECT hash FROM tiles WHERE level = $1 AND idx >= $2 AND idx < $3 ORDER BY idx

-- name: position
SELECT seq FROM ledger WHERE subject = $1 ORDER BY seq DESC LIMIT 1

-- name: received
SELECT l.seq, l.at_ms, l.hash, e.token, e.principal_id FROM ects AS e JOIN ledger AS l ON l.subject = e.jti WHERE e.jti = $1

-- name: decided_node
SELECT at_ms, par, wid FROM activities WHERE activity_id = $1

-- name: received_token
SELECT token FROM ects WHERE jti = $1

-- name: put_ect
INSERT INTO ects VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING

-- name: wait_for_ledger
INSERT INTO pending (at_ms, subject, commitment, place, source, number, mac) VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: search_limit
SELECT id FROM activities
WHERE ($1::text IS NULL OR agent_id = $1) AND ($2::text IS NULL OR principal_id = $2) AND id < $3
  AND ($4::bigint IS NULL OR at_ms < $4)
ORDER BY id DESC LIMIT 1 OFFSET $5

-- name: search_end
SELECT last_value + 1 FROM activity_ids

-- name: before_search
SELECT id, at_ms FROM activities
WHERE ($1::text IS NULL OR agent_id = $1) AND ($2::text IS NULL OR principal_id = $2) AND id < $3
ORDER BY id DESC LIMIT 1

-- name: search
SELECT a.id, a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.action_type, a.decision, a.error_code,
       a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.payload, a.par, a.wid, o.body
FROM activities AS a LEFT JOIN outcomes AS o USING (activity_id)
WHERE ($1::text IS NULL OR a.agent_id = $1) AND ($2::text IS NULL OR a.principal_id = $2)
  AND a.id >= $3 AND a.id < $4
  AND ($5::bigint IS NULL OR a.at_ms >= $5) AND ($6::bigint IS NULL OR a.at_ms < $6)
  AND ($7::text IS NULL OR a.decision = $7) AND ($8::text IS NULL OR a.action_type = $8)
  AND ($9::text IS NULL OR a.error_code = $9) AND ($10::text IS NULL OR a.conversation_id = $10)
  AND ($11::bytea IS NULL OR position($11::bytea IN a.payload) > 0)
ORDER BY a.id DESC LIMIT $12

-- name: hours
SELECT hour, decision, error_code, sum(entries)::bigint,
       least(4611686018427387904, sum(cost_nano))::bigint
FROM hours WHERE ($1::text IS NULL OR principal_id = $1) AND hour >= $2
GROUP BY hour, decision, error_code ORDER BY hour, decision, error_code

-- name: agents_by_spending
SELECT g.body, coalesce(d.cost_nano, 0) FROM agents AS g
LEFT JOIN days AS d ON d.kind = 'agent' AND d.subject = g.agent_id AND d.day = $2
WHERE g.status <> 'deregistered' AND ($1::text IS NULL OR g.principal_id = $1)
ORDER BY g.status = 'suspended' DESC, coalesce(d.cost_nano, 0) DESC, g.agent_id LIMIT $3

-- name: count_waiting
SELECT count(*) FROM approvals
WHERE status = 'open' AND ends_ms > $2 AND ($1::text IS NULL OR principal_id = $1)

-- name: approvals_due
SELECT body FROM approvals WHERE status = 'open' AND attention_ms <= $1 ORDER BY attention_ms LIMIT $2

-- name: workflow
SELECT body FROM workflows WHERE workflow_id = $1

-- name: completed_nodes
SELECT node_id FROM workflow_nodes WHERE workflow_id = $1

-- name: webhook
SELECT body FROM webhooks WHERE webhook_id = $1

-- name: destinations
SELECT body FROM webhooks WHERE principal_id = $1 OR principal_id IS NULL ORDER BY webhook_id

-- name: deliveries
SELECT delivery_id, webhook_id, principal_id, event_id, event, created_ms, due_ms, body, state, attempts,
       last_attempt_ms, last_error
FROM deliveries WHERE webhook_id = $1 AND delivery_id < $2 ORDER BY delivery_id DESC LIMIT $3

-- name: delivery
SELECT delivery_id, webhook_id, principal_id, event_id, event, created_ms, due_ms, body, state, attempts,
       last_attempt_ms, last_error
FROM deliveries WHERE delivery_id = $1

-- name: next_delivery
SELECT min(due_ms) FROM deliveries WHERE state = 'pending'

-- name: claim_turn
SELECT pg_advisory_xact_lock(7932003)

-- name: due_deliveries
SELECT delivery_id, webhook_id FROM deliveries
WHERE state = 'pending' AND due_ms <= $1 AND webhook_id <> ALL ($2::text[])
ORDER BY due_ms LIMIT $3

-- name: deliveries_of
SELECT delivery_id, webhook_id, principal_id, event_id, event, created_ms, due_ms, body, state, attempts,
       last_attempt_ms, last_error
FROM deliveries WHERE delivery_id = ANY ($1::text[])

-- name: put_delivery
INSERT INTO deliveries VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (delivery_id) DO UPDATE SET webhook_id = excluded.webhook_id,
    principal_id = excluded.principal_id, event_id = excluded.event_id, event = excluded.event,
    created_ms = excluded.created_ms, due_ms = excluded.due_ms, body = excluded.body, state = excluded.state,
    attempts = excluded.attempts, last_attempt_ms = excluded.last_attempt_ms,
    last_error = excluded.last_error

-- name: settle_delivery
UPDATE deliveries SET state = $1, due_ms = $2, last_error = $3
WHERE delivery_id = $4 AND state = 'pending' AND (attempts = $5 OR $1 = 'delivered')

-- name: redact_deliveries
DELETE FROM deliveries WHERE position($1::bytea IN body) > 0

-- name: forget_deliveries
DELETE FROM deliveries WHERE delivery_id < $1 AND state <> 'pending'

-- name: all_checkpoints
SELECT size, at_ms, token, cosignatures FROM checkpoints ORDER BY size

-- name: all_tiles
SELECT level, idx, hash FROM tiles

-- name: ledger_page
SELECT l.seq, l.at_ms AS entered_ms, l.subject, l.commitment, l.previous, l.hash,
       a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.action_type, a.decision, a.error_code,
       a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.par, a.wid, a.salt, a.payload,
       e.jti, e.salt AS e_salt, e.token, e.principal_id AS e_principal_id
FROM ledger AS l
LEFT JOIN activities AS a ON a.activity_id = l.subject AND a.at_ms = l.at_ms
LEFT JOIN ects AS e ON e.jti = l.subject
WHERE l.seq > $1 AND l.seq <= $2 ORDER BY l.seq LIMIT $3

-- name: standing
SELECT actions, conduct FROM standings WHERE agent_id = $1

-- name: all_trust_changes
SELECT number, body FROM trust_changes WHERE agent_id = $1

-- name: trust_changes
SELECT number, body FROM trust_changes WHERE agent_id = $1 AND ($2::bigint IS NULL OR number < $2)
ORDER BY number DESC LIMIT $3

-- name: is_unsettled
SELECT 1 FROM outcomes WHERE agent_id = $1 AND fingerprint = $2 AND result = 'unknown' LIMIT 1

-- name: outcomes
SELECT body FROM outcomes WHERE agent_id = $1 ORDER BY activity_id DESC LIMIT $2

-- name: lock_turn
SELECT pg_try_advisory_lock($1)

-- name: unlock_turn
SELECT pg_advisory_unlock($1)

-- name: keep_score
INSERT INTO score_changes VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING

-- name: score_changes
SELECT peer, number, event, evidence, score_before, score_after, at, revokes, seq FROM score_changes
WHERE peer = $1 AND ($2::bigint IS NULL OR number < $2) ORDER BY number DESC LIMIT $3

-- name: scored_peers
SELECT DISTINCT peer FROM score_changes WHERE peer > $1 ORDER BY peer LIMIT $2

-- name: items_after
SELECT l.seq, l.at_ms, l.subject, l.commitment, l.previous, l.hash, e.token, e.salt, e.principal_id, a.salt,
       a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.action_type, a.decision, a.error_code,
       a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.payload, a.par, a.wid
FROM ledger AS l LEFT JOIN activities AS a ON a.activity_id = l.subject LEFT JOIN ects AS e ON e.jti = l.subject
WHERE l.seq > $1 ORDER BY l.seq LIMIT $2

-- name: item_about
SELECT l.seq, l.at_ms, l.subject, l.commitment, l.previous, l.hash, e.token, e.salt, e.principal_id, a.salt,
       a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.action_type, a.decision, a.error_code,
       a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.payload, a.par, a.wid
FROM ledger AS l LEFT JOIN activities AS a ON a.activity_id = l.subject LEFT JOIN ects AS e ON e.jti = l.subject
WHERE l.subject = $1 OR l.subject = $2 LIMIT 1

-- name: has_states
SELECT EXISTS (SELECT 1 FROM ledger WHERE subject >= 'state:' AND subject < 'state;')
    OR EXISTS (SELECT 1 FROM ledger WHERE subject >= 'adopt_state:' AND subject < 'adopt_state;')
    OR EXISTS (SELECT 1 FROM pending WHERE subject >= 'state:' AND subject < 'state;')
    OR EXISTS (SELECT 1 FROM pending WHERE subject >= 'adopt_state:' AND subject < 'adopt_state;')

-- name: last_states
SELECT DISTINCT ON (subject) subject, seq, at_ms, commitment FROM ledger
WHERE subject >= $1 AND subject < $2 ORDER BY subject, seq DESC

-- name: waiting_states
SELECT subject, at_ms, commitment, place, source, number, mac FROM pending
WHERE subject >= $1 AND subject < $2 ORDER BY id

-- name: waiting_about
SELECT subject, at_ms, commitment, place, source, number, mac FROM pending WHERE subject = $1 ORDER BY id

-- name: ledger_about
SELECT subject, seq, at_ms, commitment FROM ledger WHERE subject = $1 ORDER BY seq DESC LIMIT 1

-- name: entries_about
SELECT seq, commitment FROM ledger WHERE subject = ANY ($1::text[]) ORDER BY seq

-- name: agent_body
SELECT body FROM agents WHERE agent_id = $1

-- name: all_waiting_states
SELECT subject, at_ms, commitment, place, source, number, mac FROM pending
WHERE (subject >= 'state:' AND subject < 'state;') OR (subject >= 'adopt_state:' AND subject < 'adopt_state;')
ORDER BY id

-- name: all_days
SELECT kind, subject, day, requests, cost_nano, tokens FROM days

-- name: all_hours
SELECT principal_id, hour, decision, error_code, entries, cost_nano FROM hours

-- name: all_seconds
SELECT agent_id, second, upto - before FROM seconds

-- name: all_steps
SELECT agent_id, conversation_id, step, fingerprint, state, approved, activity_id, wid FROM steps

-- name: late_activities
SELECT a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.decision, a.error_code, a.conversation_id,
       a.cost_nano, a.tokens, a.fingerprint, a.par, a.payload
FROM pending AS p JOIN activities AS a ON a.activity_id = p.subject AND a.at_ms = p.at_ms

-- name: orphans
SELECT a.activity_id FROM activities AS a
WHERE NOT EXISTS (SELECT 1 FROM ledger AS l WHERE l.subject = a.activity_id AND l.at_ms = a.at_ms)
  AND NOT EXISTS (SELECT 1 FROM pending AS p WHERE p.subject = a.activity_id)
UNION ALL
SELECT e.jti FROM ects AS e
WHERE NOT EXISTS (SELECT 1 FROM ledger AS l WHERE l.subject = e.jti)
  AND NOT EXISTS (SELECT 1 FROM pending AS p WHERE p.subject = e.jti)
LIMIT 10

-- name: lock_windows
SELECT pg_advisory_xact_lock(k.number) FROM (
    SELECT DISTINCT hashtextextended(encode(key, 'hex'), 7932010) AS number FROM unnest($1::bytea[]) AS key
    ORDER BY number OFFSET 0
) AS k

-- name: window_state
SELECT l.at_ms AS last_ms, count(e.number) AS entries, coalesce(sum(e.amount), 0) AS total,
       coalesce(bool_or(e.value = $4), false) AS has_value, coalesce(bool_or(e.is_merged), false) AS is_merged
FROM (SELECT coalesce(max(at_ms), 0) AS at_ms FROM rule_entries WHERE key = $1) AS l
LEFT JOIN rule_entries AS e ON e.key = $1 AND e.at_ms > greatest($2, l.at_ms) - $3
GROUP BY l.at_ms

-- name: put_window_entry
INSERT INTO rule_entries (key, at_ms, value, amount, is_merged, until_ms)
SELECT $1, n.at_ms, $3, $4, false, n.at_ms + $5
FROM (SELECT greatest($2::bigint, coalesce(max(at_ms), 0)) AS at_ms FROM rule_entries WHERE key = $1) AS n

-- name: drop_window_value
DELETE FROM rule_entries WHERE key = $1 AND value = $2

-- name: count_window_entries
SELECT count(*) FROM rule_entries WHERE key = $1

-- name: oldest_window_entries
SELECT number, at_ms, value, is_merged FROM rule_entries WHERE key = $1 ORDER BY number LIMIT $2

-- name: drop_window_entries
DELETE FROM rule_entries WHERE key = $1 AND number = ANY ($2::bigint[])

-- name: change_window_entry
UPDATE rule_entries SET value = $3, amount = $4, is_merged = true WHERE key = $1 AND number = $2

-- name: last_time
SELECT at_ms FROM rule_times WHERE key = $1

-- name: put_last_time
INSERT INTO rule_times AS have VALUES ($1, $2, $3) ON CONFLICT (key) DO UPDATE
SET at_ms = greatest(have.at_ms, excluded.at_ms), until_ms = greatest(have.until_ms, excluded.until_ms)

-- name: put_waiting_mark
INSERT INTO rule_waits VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING

-- name: take_waiting_marks
DELETE FROM rule_waits WHERE activity_id = $1 AND proof <= $2 RETURNING key, at_ms, until_ms

-- name: forget_window_entries
DELETE FROM rule_entries WHERE until_ms < $1

-- name: forget_last_times
DELETE FROM rule_times WHERE until_ms < $1

-- name: forget_waiting_marks
DELETE FROM rule_waits WHERE until_ms < $1
