-- expands
-- The plain case of admission in one round trip, recording without quadratic work, and what becomes of the
-- holds of a process that died.

-- Ends holds that nobody will settle. Their callers were never answered, so nothing is counted.
CREATE FUNCTION drop_holds(given bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE held text[];
BEGIN
    SELECT array_agg(key) INTO held FROM (
        SELECT 'a:' || agent_id AS key FROM holds WHERE token = ANY (given)
        UNION SELECT 'p:' || principal_id FROM holds WHERE token = ANY (given)
    ) AS keys;
    IF held IS NOT NULL THEN
        PERFORM take_turns(held);
        DELETE FROM holds WHERE token = ANY (given);
        UPDATE turns SET version = version + 1 WHERE key = ANY (held);
    END IF;
END $$;

-- As `hold_at`, but a reservation that is overtaken after its lease is not counted: if its holder lives, the
-- refusal that it records is.
CREATE FUNCTION hold_unchanged(
    keys text[], versions bigint[], overtaken bigint[],
    h_token bigint[], h_key text[], h_ceiling text[], h_owner text, h_agent text[], h_principal text[],
    h_conversation text[], h_step integer[], h_cost bigint[], h_tokens bigint[], h_at_ms bigint[],
    h_expires_ms bigint[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE stale text[];
BEGIN
    PERFORM take_turns(keys);
    SELECT coalesce(array_agg(g.key), '{}') INTO stale
    FROM unnest(keys, versions) AS g (key, version) JOIN turns AS t USING (key)
    WHERE t.version <> g.version;
    IF cardinality(overtaken) > 0 THEN
        DELETE FROM holds WHERE token = ANY (overtaken) AND 'a:' || agent_id <> ALL (stale);
    END IF;
    INSERT INTO holds (token, owner, agent_id, principal_id, conversation_id, step, cost_nano, tokens, at_ms,
        expires_ms)
    SELECT token, h_owner, agent, principal, conversation, step, cost, tokens, at_ms, expires_ms
    FROM unnest(
        h_token, h_key, h_ceiling, h_agent, h_principal, h_conversation, h_step, h_cost, h_tokens, h_at_ms,
        h_expires_ms
    ) AS h (
        token, key, ceiling, agent, principal, conversation, step, cost, tokens, at_ms, expires_ms
    )
    WHERE key <> ALL (stale) AND (ceiling IS NULL OR ceiling <> ALL (stale));
    UPDATE turns SET version = version + 1 WHERE key = ANY (keys) AND key <> ALL (stale);
    RETURN stale;
END $$;

-- Holds for requests in the plain case, where the state cannot change what the rules say: the agent is the
-- one that was decided upon (g_body), the conversation has no reservation, only lower steps, room, and not
-- this action; and the agent's counters, with everything asked here before, are within its limits (g_hour,
-- g_day, g_cost, g_tokens; NULL is unlimited). A row for each request that is held; all others have to be
-- looked at in full.
CREATE FUNCTION hold_plain(
    keys text[], h_owner text, max_steps integer, this_day integer, oldest_second bigint,
    g_agent text[], g_body bytea[], g_hour bigint[], g_day bigint[], g_cost bigint[], g_tokens bigint[],
    h_token bigint[], h_agent text[], h_principal text[], h_conversation text[], h_step integer[],
    h_fingerprint bytea[], h_cost bigint[], h_tokens bigint[], h_at_ms bigint[], h_expires_ms bigint[]
) RETURNS TABLE (
    token bigint, last_node text, last_wid text, actions bigint, conduct bytea, requests bigint, cost bigint,
    tokens bigint, hour bigint, held bigint, today bigint, cost_held bigint, tokens_held bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM take_turns(keys);
    RETURN QUERY
    WITH accounts AS MATERIALIZED (
        SELECT g.agent_id, g.hour_limit, g.day_limit, g.cost_limit, g.tokens_limit,
               coalesce(st.actions, 0) AS actions, st.conduct, n.*
        FROM unnest(g_agent, g_body, g_hour, g_day, g_cost, g_tokens)
            AS g (agent_id, body, hour_limit, day_limit, cost_limit, tokens_limit)
        JOIN agents AS a ON a.agent_id = g.agent_id AND a.body = g.body
        LEFT JOIN standings AS st ON st.agent_id = g.agent_id
        LEFT JOIN LATERAL (
            SELECT coalesce(d.requests, 0) AS requests, coalesce(d.cost_nano, 0) AS cost,
                   coalesce(d.tokens, 0) AS tokens,
                   coalesce((SELECT s.upto FROM seconds AS s
                             WHERE s.agent_id = g.agent_id AND s.second >= oldest_second
                             ORDER BY s.second DESC LIMIT 1)
                          - (SELECT s.before FROM seconds AS s
                             WHERE s.agent_id = g.agent_id AND s.second >= oldest_second
                             ORDER BY s.second LIMIT 1), 0) AS hour,
                   h.held, h.today, h.cost_held, h.tokens_held
            -- What has no limit need not be counted.
            FROM (SELECT 1 WHERE num_nonnulls(g.hour_limit, g.day_limit, g.cost_limit, g.tokens_limit) > 0) AS l
            CROSS JOIN LATERAL (
                SELECT count(*) AS held, count(*) FILTER (WHERE x.at_ms / 86400000 = this_day) AS today,
                       coalesce(sum(x.cost_nano), 0)::bigint AS cost_held,
                       coalesce(sum(x.tokens), 0)::bigint AS tokens_held
                FROM holds AS x WHERE x.agent_id = g.agent_id
            ) AS h
            LEFT JOIN days AS d ON d.kind = 'agent' AND d.subject = g.agent_id AND d.day = this_day
        ) AS n ON true
    ), asked AS (
        SELECT r.*,
               row_number() OVER (PARTITION BY r.agent, r.conversation ORDER BY r.number) AS turn,
               count(*) OVER before AS n_asked, sum(r.r_cost) OVER before AS c_asked,
               sum(r.r_tokens) OVER before AS t_asked
        FROM unnest(h_token, h_agent, h_principal, h_conversation, h_step, h_fingerprint, h_cost, h_tokens,
            h_at_ms, h_expires_ms) WITH ORDINALITY
            AS r (r_token, agent, principal, conversation, step, fingerprint, r_cost, r_tokens, at_ms,
                expires_ms, number)
        WINDOW before AS (PARTITION BY r.agent ORDER BY r.number)
    ), plain AS MATERIALIZED (
        SELECT r.*, c.last_node, c.last_wid, a.actions, a.conduct, a.requests, a.cost, a.tokens, a.hour,
               a.held, a.today, a.cost_held, a.tokens_held
        FROM asked AS r JOIN accounts AS a ON a.agent_id = r.agent
        LEFT JOIN LATERAL (
            SELECT x.step AS last_step, x.activity_id AS last_node, x.wid AS last_wid FROM steps AS x
            WHERE x.agent_id = r.agent AND x.conversation_id = r.conversation ORDER BY x.step DESC LIMIT 1
        ) AS c ON true
        CROSS JOIN LATERAL (
            SELECT count(*) AS used, coalesce(bool_or(x.fingerprint = r.fingerprint), false) AS is_known
            FROM steps AS x WHERE x.agent_id = r.agent AND x.conversation_id = r.conversation
        ) AS u
        WHERE (r.conversation IS NULL
               OR (r.turn = 1 AND u.used < max_steps AND coalesce(c.last_step, 0) < r.step
                   AND NOT u.is_known
                   AND NOT EXISTS (SELECT 1 FROM holds AS x
                                   WHERE x.agent_id = r.agent AND x.conversation_id = r.conversation)
                   AND NOT EXISTS (SELECT 1 FROM outcomes AS o WHERE o.agent_id = r.agent
                                   AND o.result = 'unknown' AND o.fingerprint = r.fingerprint)))
          AND (a.hour_limit IS NULL OR a.hour + a.held + r.n_asked <= a.hour_limit)
          AND (a.day_limit IS NULL OR a.requests + a.today + r.n_asked <= a.day_limit)
          AND (a.cost_limit IS NULL OR a.cost + a.cost_held + r.c_asked <= a.cost_limit)
          AND (a.tokens_limit IS NULL OR a.tokens + a.tokens_held + r.t_asked <= a.tokens_limit)
    ), taken AS (
        INSERT INTO holds (token, owner, agent_id, principal_id, conversation_id, step, cost_nano, tokens,
            at_ms, expires_ms)
        SELECT r_token, h_owner, agent, principal, conversation, step, r_cost, r_tokens, at_ms, expires_ms
        FROM plain
    )
    SELECT p.r_token, p.last_node, p.last_wid, p.actions, p.conduct, p.requests, p.cost, p.tokens, p.hour,
           p.held, p.today, p.cost_held, p.tokens_held
    FROM plain AS p ORDER BY p.number;
    UPDATE turns SET version = version + 1 WHERE key = ANY (keys);
END $$;

-- As `commit_records`, with the requests of an agent counted where they are, in one pass.
CREATE FUNCTION record_decisions(
    keys text[],
    r_id text[], r_agent text[], r_principal text[], r_at_ms bigint[], r_type text[], r_decision text[],
    r_error text[], r_conversation text[], r_cost bigint[], r_tokens bigint[], r_fingerprint bytea[],
    r_par text[], r_wid text[], r_salt bytea[], r_payload bytea[], r_commitment bytea[],
    r_hold bigint[], r_binding boolean[], r_status text[], r_trust smallint[],
    r_step integer[], r_state bytea[], r_approved boolean[], r_node text[], r_step_wid text[],
    b_day integer[], b_second bigint[], b_requests integer[], b_cost bigint[], b_tokens bigint[],
    b_actions integer[], has_kept boolean,
    k_hash bytea[], k_expires_ms bigint[], k_status integer[], k_body bytea[], k_retry integer[],
    r_crosses boolean[]
) RETURNS smallint[] LANGUAGE plpgsql AS $$
DECLARE verdicts smallint[];
BEGIN
    PERFORM take_turns(keys);
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

    INSERT INTO pending (at_ms, subject, commitment)
    SELECT at_ms, subject, commitment
    FROM unnest(r_at_ms, r_id, r_commitment, verdicts) WITH ORDINALITY
        AS r (at_ms, subject, commitment, verdict, number)
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
