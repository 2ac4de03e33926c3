-- needs code that knows this file
-- Whoever may write here writes no record: each carries a MAC under the deployment's record key, which is not in
-- the database. `place` is the table that a record is about, `number` its gapless number among those of the
-- process that wrote it (`source`), `mac` the id of the key (8 bytes) and the MAC (32).
ALTER TABLE pending ADD COLUMN place text COLLATE "C";
ALTER TABLE pending ADD COLUMN source text COLLATE "C";
ALTER TABLE pending ADD COLUMN number bigint;
ALTER TABLE pending ADD COLUMN mac bytea;
-- What waits already is taken over once, by the gateway that applies this file. A gateway from before is refused.
ALTER TABLE pending ADD CONSTRAINT sealed CHECK (
    place IS NOT NULL AND source IS NOT NULL AND number IS NOT NULL AND mac IS NOT NULL
) NOT VALID;

-- What was refused a place in the ledger, as it was found, and why.
CREATE TABLE refused_entries (
    id         bigint PRIMARY KEY,
    found_ms   bigint NOT NULL,
    reason     text COLLATE "C" NOT NULL,
    at_ms      bigint NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    commitment bytea NOT NULL,
    place      text COLLATE "C",
    source     text COLLATE "C",
    number     bigint,
    mac        bytea
);

-- How far the numbers of each process have come, and which are missing: sealed by the leader.
CREATE TABLE record_sources (
    source text COLLATE "C" PRIMARY KEY,
    at_ms  bigint NOT NULL,
    body   bytea NOT NULL,
    mac    bytea NOT NULL
) WITH (fillfactor = 50);

-- Agents and keys carry a MAC too. Those from before have none: they count as long as their last entry is among
-- the first `size`, which the gateway that applied this file sealed.
ALTER TABLE agents ADD COLUMN mac bytea;
ALTER TABLE keys ADD COLUMN mac bytea;
CREATE TABLE sealed_since (
    size bigint NOT NULL,
    mac  bytea NOT NULL
);
CREATE UNIQUE INDEX one_sealed_since ON sealed_since ((true));

-- As `append_ledger`, with what has no place in the ledger: `ids` may have more than `seqs`, those only go.
CREATE FUNCTION append_vetted(
    ids bigint[], seqs bigint[], ats_ms bigint[], subjects text[], commitments bytea[], previous bytea[],
    hashes bytea[], levels integer[], idxs bigint[], nodes bytea[], c_at_ms bigint, c_token text,
    replaced bigint, s_source text[], s_body bytea[], s_mac bytea[], r_id bigint[], r_reason text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE has_replaced boolean := false;
BEGIN
    IF cardinality(seqs) > 0 THEN
        has_replaced := append_ledger(ids, seqs, ats_ms, subjects, commitments, previous, hashes, levels, idxs,
            nodes, c_at_ms, c_token, replaced);
    ELSE
        DELETE FROM pending WHERE id = ANY (ids);
    END IF;
    INSERT INTO record_sources AS have SELECT source, c_at_ms, body, mac
    FROM unnest(s_source, s_body, s_mac) AS s (source, body, mac)
    ON CONFLICT (source) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body, mac = excluded.mac;
    IF cardinality(r_id) > 0 THEN
        WITH gone AS (DELETE FROM pending WHERE id = ANY (r_id) RETURNING *)
        INSERT INTO refused_entries
        SELECT g.id, c_at_ms, r.reason, g.at_ms, g.subject, g.commitment, g.place, g.source, g.number, g.mac
        FROM gone AS g JOIN unnest(r_id, r_reason) AS r (id, reason) ON r.id = g.id
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN has_replaced;
END $$;

-- The newest entry about a row, as `last_state`, with the seal of one that still waits for its place.
CREATE FUNCTION last_sealed_state(about text) RETURNS TABLE (
    seq bigint, commitment bytea, subject text, at_ms bigint, source text, number bigint, mac bytea
) LANGUAGE sql STABLE AS $$
    SELECT found.seq, found.commitment, found.subject, found.at_ms, found.source, found.number, found.mac FROM (
        (SELECT 1 AS turn, 0::bigint AS seq, p.commitment, p.subject, p.at_ms, p.source, p.number, p.mac
         FROM pending AS p
         WHERE p.subject = 'state:' || about AND p.subject >= 'state:' AND p.subject < 'state;'
         ORDER BY p.id DESC LIMIT 1)
        UNION ALL
        (SELECT 2, l.seq, l.commitment, NULL, NULL, NULL, NULL, NULL FROM ledger AS l
         WHERE l.subject = 'state:' || about ORDER BY l.seq DESC LIMIT 1)
        UNION ALL
        (SELECT 3, 0, p.commitment, p.subject, p.at_ms, p.source, p.number, p.mac FROM pending AS p
         WHERE p.subject = 'adopt_state:' || about
           AND p.subject >= 'adopt_state:' AND p.subject < 'adopt_state;' ORDER BY p.id DESC LIMIT 1)
        UNION ALL
        (SELECT 4, l.seq, l.commitment, NULL, NULL, NULL, NULL, NULL FROM ledger AS l
         WHERE l.subject = 'adopt_state:' || about ORDER BY l.seq DESC LIMIT 1)
    ) AS found ORDER BY found.turn LIMIT 1
$$;

-- Records in their order, each all or nothing. The answer has one number for each: 0 written, 1 its hold is
-- gone, 2 its agent changed while it was at work. The first writer under an idempotency key wins: a record whose
-- claim (k_claim) is not held any more is 3; beside such a one nothing is written, and the others are NULL.
CREATE FUNCTION record_sealed_decisions(
    keys text[],
    r_id text[], r_agent text[], r_principal text[], r_at_ms bigint[], r_type text[], r_decision text[],
    r_error text[], r_conversation text[], r_cost bigint[], r_tokens bigint[], r_fingerprint bytea[],
    r_par text[], r_wid text[], r_salt bytea[], r_payload bytea[], r_commitment bytea[],
    r_hold bigint[], r_binding boolean[], r_status text[], r_trust smallint[],
    r_step integer[], r_state bytea[], r_approved boolean[], r_node text[], r_step_wid text[],
    b_day integer[], b_second bigint[], b_requests integer[], b_cost bigint[], b_tokens bigint[],
    b_actions integer[], has_kept boolean,
    k_hash bytea[], k_expires_ms bigint[], k_status integer[], k_body bytea[], k_retry integer[],
    r_crosses boolean[], k_claim bigint[],
    s_source text, s_number bigint[], s_mac bytea[]
) RETURNS smallint[] LANGUAGE plpgsql AS $$
DECLARE verdicts smallint[];
BEGIN
    PERFORM take_turns(keys);
    IF has_kept THEN
        SELECT array_agg(CASE WHEN r.hash IS NOT NULL AND c.token IS NULL THEN 3 END ORDER BY r.number)
        INTO verdicts
        FROM unnest(r_agent, k_hash, k_claim) WITH ORDINALITY AS r (agent, hash, claim, number)
        LEFT JOIN key_claims AS c ON c.agent_id = r.agent AND c.key_hash = r.hash AND c.token = r.claim;
        IF 3 = ANY (verdicts) THEN
            RETURN verdicts;
        END IF;
    END IF;
    SELECT array_agg(
        CASE WHEN NOT r.binding THEN 0
             WHEN h.token IS NULL THEN 1
             WHEN (a.status <> r.status AND a.status <> 'active') OR a.trust < r.trust THEN 2
             ELSE 0 END ORDER BY r.number)
    INTO verdicts
    FROM unnest(r_agent, r_hold, r_binding, r_status, r_trust) WITH ORDINALITY
        AS r (agent_id, hold, binding, status, trust, number)
    LEFT JOIN holds AS h ON h.token = r.hold
    LEFT JOIN agents AS a ON a.agent_id = r.agent_id AND r.binding;

    INSERT INTO activities (activity_id, agent_id, principal_id, at_ms, action_type, decision, error_code,
        conversation_id, cost_nano, tokens, fingerprint, par, wid, salt, payload)
    SELECT id, agent, principal, at_ms, type, decision, error, conversation, cost, tokens, fingerprint, par,
        wid, salt, payload
    FROM unnest(r_id, r_agent, r_principal, r_at_ms, r_type, r_decision, r_error, r_conversation, r_cost,
        r_tokens, r_fingerprint, r_par, r_wid, r_salt, r_payload, verdicts) WITH ORDINALITY
        AS r (id, agent, principal, at_ms, type, decision, error, conversation, cost, tokens, fingerprint,
            par, wid, salt, payload, verdict, number)
    WHERE verdict = 0 ORDER BY number;

    INSERT INTO pending (at_ms, subject, commitment, place, source, number, mac)
    SELECT at_ms, subject, commitment, 'activities', s_source, sealed, mac
    FROM unnest(r_at_ms, r_id, r_commitment, s_number, s_mac, verdicts) WITH ORDINALITY
        AS r (at_ms, subject, commitment, sealed, mac, verdict, number)
    WHERE verdict = 0 ORDER BY number;

    INSERT INTO steps (agent_id, conversation_id, step, fingerprint, state, approved, activity_id, wid)
    SELECT agent, conversation, step, fingerprint, state, approved, node, wid
    FROM unnest(r_agent, r_conversation, r_step, r_fingerprint, r_state, r_approved, r_node, r_step_wid,
        verdicts) AS r (agent, conversation, step, fingerprint, state, approved, node, wid, verdict)
    WHERE verdict = 0 AND step IS NOT NULL;

    DELETE FROM holds USING unnest(r_hold, verdicts) AS r (hold, verdict)
    WHERE holds.token = r.hold AND r.verdict = 0;

    INSERT INTO standings
    SELECT agent, sum(actions), NULL FROM unnest(r_agent, b_actions, verdicts) AS r (agent, actions, verdict)
    WHERE verdict = 0 AND actions > 0 GROUP BY agent ORDER BY agent
    ON CONFLICT (agent_id) DO UPDATE SET actions = standings.actions + excluded.actions;

    INSERT INTO seconds AS have
    SELECT r.agent_id, greatest(r.second, newest.second), coalesce(newest.upto, 0),
           coalesce(newest.upto, 0) + r.count
    FROM (
        SELECT agent AS agent_id, max(second) AS second, sum(requests)::bigint AS count
        FROM unnest(r_agent, b_second, b_requests, verdicts) AS u (agent, second, requests, verdict)
        WHERE verdict = 0 AND requests > 0 GROUP BY agent
    ) AS r
    LEFT JOIN LATERAL (
        SELECT s.second, s.upto FROM seconds AS s
        WHERE s.agent_id = r.agent_id ORDER BY s.second DESC LIMIT 1
    ) AS newest ON true
    ON CONFLICT (agent_id, second) DO UPDATE SET upto = have.upto + excluded.upto - excluded.before;

    IF has_kept THEN
        INSERT INTO remembered
        SELECT DISTINCT ON (agent, hash) agent, hash, expires_ms, status, body, retry
        FROM unnest(r_agent, k_hash, k_expires_ms, k_status, k_body, k_retry, verdicts) WITH ORDINALITY
            AS r (agent, hash, expires_ms, status, body, retry, verdict, number)
        WHERE verdict = 0 AND hash IS NOT NULL ORDER BY agent, hash, number DESC
        ON CONFLICT (agent_id, key_hash) DO UPDATE SET expires_ms = excluded.expires_ms,
            status = excluded.status, body = excluded.body, retry_after = excluded.retry_after;
        INSERT INTO crossings
        SELECT DISTINCT ON (agent, fingerprint, conversation) agent, fingerprint, conversation, at_ms
        FROM unnest(r_agent, r_fingerprint, r_conversation, r_at_ms, r_crosses, verdicts)
            AS r (agent, fingerprint, conversation, at_ms, crosses, verdict)
        WHERE verdict = 0 AND crosses ORDER BY agent, fingerprint, conversation, at_ms DESC
        ON CONFLICT (agent_id, fingerprint, conversation_id) DO UPDATE SET at_ms = excluded.at_ms;
        DELETE FROM key_claims AS c USING unnest(r_agent, k_hash, verdicts) AS r (agent, hash, verdict)
        WHERE c.agent_id = r.agent AND c.key_hash = r.hash AND r.verdict = 0;
    END IF;
    UPDATE turns SET version = version + 1 WHERE key = ANY (keys);

    -- Rows that all agents of a principal share come last: whoever waits for one waits a shorter time.
    -- Bounded below 2^63, where a sum would fail.
    INSERT INTO days
    SELECT kind, subject, day, sum(requests), least(4611686018427387904, sum(cost)),
        least(4611686018427387904, sum(tokens)) FROM (
        SELECT 'agent' AS kind, agent AS subject, day, requests, cost, tokens, verdict
        FROM unnest(r_agent, b_day, b_requests, b_cost, b_tokens, verdicts)
            AS r (agent, day, requests, cost, tokens, verdict)
        UNION ALL
        SELECT 'principal', principal, day, requests, cost, tokens, verdict
        FROM unnest(r_principal, b_day, b_requests, b_cost, b_tokens, verdicts)
            AS r (principal, day, requests, cost, tokens, verdict)
    ) AS booked
    WHERE verdict = 0 AND day IS NOT NULL
    GROUP BY kind, subject, day ORDER BY kind, subject, day
    ON CONFLICT (kind, subject, day) DO UPDATE SET
        requests = days.requests + excluded.requests,
        cost_nano = least(4611686018427387904, greatest(0, days.cost_nano::numeric + excluded.cost_nano)),
        tokens = least(4611686018427387904, greatest(0, days.tokens::numeric + excluded.tokens));

    INSERT INTO hours
    SELECT principal, (at_ms / 3600000)::integer, decision, coalesce(error, ''), count(*),
        least(4611686018427387904, sum(cost))
    FROM unnest(r_principal, r_at_ms, r_decision, r_error, r_cost, verdicts)
        AS r (principal, at_ms, decision, error, cost, verdict)
    WHERE verdict = 0 AND decision <> 'NOTED'
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (principal_id, hour, decision, error_code) DO UPDATE SET
        entries = hours.entries + excluded.entries,
        cost_nano = least(4611686018427387904, hours.cost_nano::numeric + excluded.cost_nano);
    RETURN verdicts;
END $$;

DROP FUNCTION record_first_decisions;
DROP FUNCTION record_decisions;
