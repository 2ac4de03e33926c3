-- expands
-- The truth of any number of gateways. Money is in billionths of a US dollar, instants in milliseconds
-- since the epoch, hashes are raw bytes. Whole values live as JSON in `body`; columns are what is searched.
-- Texts that a caller chose are escaped: PostgreSQL has no NUL.

CREATE TABLE agents (
    agent_id     text COLLATE "C" PRIMARY KEY,
    principal_id text COLLATE "C" NOT NULL,
    token_hash   bytea NOT NULL UNIQUE,
    status       text COLLATE "C" NOT NULL,
    trust        smallint NOT NULL,
    violation    boolean NOT NULL,
    body         bytea NOT NULL
);
CREATE INDEX agents_by_principal ON agents (principal_id, agent_id);

CREATE TABLE keys (
    key_id       text COLLATE "C" PRIMARY KEY,
    key_hash     bytea NOT NULL UNIQUE,
    principal_id text COLLATE "C",
    body         bytea NOT NULL
);

-- Divided by time, so that what is past its retention goes with its part, at no cost.
CREATE SEQUENCE activity_ids AS bigint;
CREATE TABLE activities (
    id              bigint NOT NULL DEFAULT nextval('activity_ids'),
    activity_id     text COLLATE "C" NOT NULL,
    agent_id        text COLLATE "C" NOT NULL,
    principal_id    text COLLATE "C" NOT NULL,
    at_ms           bigint NOT NULL,
    action_type     text COLLATE "C" NOT NULL,
    decision        text COLLATE "C" NOT NULL,
    error_code      text COLLATE "C",
    conversation_id text COLLATE "C",
    cost_nano       bigint NOT NULL,
    tokens          bigint NOT NULL,
    fingerprint     bytea NOT NULL,
    -- The nodes that caused this one, joined by commas; the workflow that tokens named.
    par             text COLLATE "C",
    wid             text COLLATE "C",
    salt            bytea,
    payload         bytea,
    PRIMARY KEY (activity_id, at_ms)
) PARTITION BY RANGE (at_ms);
CREATE INDEX activities_by_agent ON activities (agent_id, id);
CREATE INDEX activities_by_principal ON activities (principal_id, id);
CREATE INDEX activities_noted ON activities (agent_id, id) WHERE decision = 'NOTED';
CREATE INDEX activities_by_id ON activities USING brin (id);
CREATE TABLE activities_other PARTITION OF activities DEFAULT;

-- Recorded, and waiting for its place in the ledger.
CREATE SEQUENCE pending_ids AS bigint;
CREATE TABLE pending (
    id         bigint PRIMARY KEY DEFAULT nextval('pending_ids'),
    at_ms      bigint NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    commitment bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- One entry per activity, and per token received. The primary key lets no second leader write the same number.
CREATE TABLE ledger (
    seq        bigint PRIMARY KEY,
    at_ms      bigint NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    commitment bytea NOT NULL,
    previous   bytea NOT NULL,
    hash       bytea NOT NULL
);

CREATE INDEX ledger_by_subject ON ledger (subject);

-- Every fourth level of the Merkle tree over the entries; the leaves are the entries.
CREATE TABLE tiles (
    level integer NOT NULL,
    idx   bigint NOT NULL,
    hash  bytea NOT NULL,
    PRIMARY KEY (level, idx)
);

-- Each batch is signed; of older signatures one a minute is kept, and every cosigned one.
CREATE TABLE checkpoints (
    size         bigint PRIMARY KEY,
    at_ms        bigint NOT NULL,
    token        text NOT NULL,
    cosignatures bytea
) WITH (fillfactor = 50);

-- Execution context tokens, byte for byte as they came.
CREATE TABLE ects (
    jti          text COLLATE "C" PRIMARY KEY,
    salt         bytea,
    token        bytea,
    principal_id text COLLATE "C" NOT NULL
);

-- The ledger's own name, drawn when it was begun.
CREATE TABLE ledger_name (
    name text NOT NULL
);
CREATE UNIQUE INDEX one_ledger_name ON ledger_name ((true));

-- The primary key is the last line of defence: a step can't be used twice.
CREATE TABLE steps (
    agent_id        text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    step            integer NOT NULL,
    fingerprint     bytea NOT NULL,
    state           bytea,
    approved        boolean NOT NULL,
    activity_id     text COLLATE "C" NOT NULL,
    wid             text COLLATE "C",
    PRIMARY KEY (agent_id, conversation_id, step)
);

-- kind is 'agent' or 'principal'.
CREATE TABLE days (
    kind      text COLLATE "C" NOT NULL,
    subject   text COLLATE "C" NOT NULL,
    day       integer NOT NULL,
    requests  bigint NOT NULL,
    cost_nano bigint NOT NULL,
    tokens    bigint NOT NULL,
    PRIMARY KEY (kind, subject, day)
) WITH (fillfactor = 50);

-- How many requests an agent had made before this second, and up to its end: the requests of an hour are
-- the difference between two rows, however many there were.
CREATE TABLE seconds (
    agent_id text COLLATE "C" NOT NULL,
    second   bigint NOT NULL,
    before   bigint NOT NULL,
    upto     bigint NOT NULL,
    PRIMARY KEY (agent_id, second)
) WITH (fillfactor = 50);
CREATE INDEX seconds_by_second ON seconds (second);

CREATE TABLE approvals (
    approval_id  text COLLATE "C" PRIMARY KEY,
    agent_id     text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL,
    version      integer NOT NULL,
    created_ms   bigint NOT NULL,
    ends_ms      bigint NOT NULL,
    attention_ms bigint NOT NULL,
    body         bytea NOT NULL
);
CREATE INDEX approvals_open ON approvals (agent_id, ends_ms) WHERE status = 'open';
CREATE INDEX approvals_by_principal ON approvals (principal_id, approval_id);
CREATE INDEX approvals_by_attention ON approvals (attention_ms) WHERE status = 'open';

CREATE TABLE outcomes (
    activity_id text COLLATE "C" PRIMARY KEY,
    agent_id    text COLLATE "C" NOT NULL,
    result      text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    body        bytea NOT NULL
);
CREATE INDEX outcomes_by_agent ON outcomes (agent_id, activity_id);
CREATE INDEX outcomes_unsettled ON outcomes (agent_id) WHERE result = 'unknown';

CREATE TABLE remembered (
    agent_id    text COLLATE "C" NOT NULL,
    key_hash    bytea NOT NULL,
    expires_ms  bigint NOT NULL,
    status      integer NOT NULL,
    body        bytea NOT NULL,
    retry_after integer,
    PRIMARY KEY (agent_id, key_hash)
);
CREATE INDEX remembered_by_expiry ON remembered (expires_ms);

CREATE TABLE crossings (
    agent_id        text COLLATE "C" NOT NULL,
    fingerprint     bytea NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    at_ms           bigint NOT NULL,
    PRIMARY KEY (agent_id, fingerprint, conversation_id)
);
CREATE INDEX crossings_by_time ON crossings (at_ms);

CREATE TABLE webhooks (
    webhook_id   text COLLATE "C" PRIMARY KEY,
    principal_id text COLLATE "C",
    body         bytea NOT NULL
);

-- How many of an agent's actions were not denied, and the misdeeds that still weigh on it.
CREATE TABLE standings (
    agent_id text COLLATE "C" PRIMARY KEY,
    actions  bigint NOT NULL,
    conduct  bytea
) WITH (fillfactor = 50);

-- Every change of level or status, in the order in which they were recorded.
CREATE SEQUENCE trust_numbers AS bigint;
CREATE TABLE trust_changes (
    number   bigint PRIMARY KEY DEFAULT nextval('trust_numbers'),
    agent_id text COLLATE "C" NOT NULL,
    at_ms    bigint NOT NULL,
    cause    text NOT NULL,
    body     bytea NOT NULL
);
CREATE INDEX trust_changes_by_agent ON trust_changes (agent_id, number);

-- What is on its way to a webhook. `due_ms` is when it is tried next; `body` is the event as JSON.
CREATE TABLE deliveries (
    delivery_id     text COLLATE "C" PRIMARY KEY,
    webhook_id      text COLLATE "C" NOT NULL,
    principal_id    text COLLATE "C",
    event_id        text COLLATE "C" NOT NULL,
    event           text NOT NULL,
    created_ms      bigint NOT NULL,
    due_ms          bigint NOT NULL,
    body            bytea NOT NULL,
    state           text NOT NULL,
    attempts        integer NOT NULL,
    last_attempt_ms bigint,
    last_error      text
);
CREATE INDEX deliveries_due ON deliveries (due_ms, webhook_id) WHERE state = 'pending';
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, delivery_id);

-- Decisions by hour, outcome and code. Everybody's are the sum: one row for all would be a row for which
-- all gateways wait.
CREATE TABLE hours (
    principal_id text COLLATE "C" NOT NULL,
    hour         integer NOT NULL,
    decision     text COLLATE "C" NOT NULL,
    error_code   text COLLATE "C" NOT NULL,
    entries      bigint NOT NULL,
    cost_nano    bigint NOT NULL,
    PRIMARY KEY (principal_id, hour, decision, error_code)
) WITH (fillfactor = 50);
CREATE INDEX hours_by_hour ON hours (hour);

-- What is in flight. After a crash of the server these are empty, which means: nobody holds anything any
-- more, and whoever did can't commit. So they need no flush to the disk.
CREATE UNLOGGED TABLE holds (
    token           bigint PRIMARY KEY,
    owner           text COLLATE "C" NOT NULL,
    agent_id        text COLLATE "C" NOT NULL,
    principal_id    text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C",
    step            integer,
    cost_nano       bigint NOT NULL,
    tokens          bigint NOT NULL,
    at_ms           bigint NOT NULL,
    expires_ms      bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE UNIQUE INDEX holds_of_a_conversation ON holds (agent_id, conversation_id);
CREATE INDEX holds_of_a_principal ON holds (principal_id);

-- One row per agent ('a:…') and per limited principal ('p:…'). Whoever changes what admission reads holds
-- the row and raises the version, so a decision made on an older state is noticed.
CREATE UNLOGGED TABLE turns (
    key     text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- In the order of their keys, so that two callers never wait for each other in a circle.
CREATE FUNCTION take_turns(keys text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE found bigint;
BEGIN
    SELECT count(*) INTO found FROM (
        SELECT 1 FROM turns WHERE key = ANY (keys) ORDER BY key FOR UPDATE
    ) AS locked;
    IF found < cardinality(keys) THEN
        INSERT INTO turns SELECT key, 0 FROM unnest(keys) AS key ORDER BY key COLLATE "C" ON CONFLICT DO NOTHING;
        PERFORM 1 FROM turns WHERE key = ANY (keys) ORDER BY key FOR UPDATE;
    END IF;
END $$;

-- Adds requests to the newest second of each agent: one may stay in the hour too long, never too short.
CREATE FUNCTION count_seconds(agents text[], seconds_of bigint[], counts integer[])
RETURNS void LANGUAGE sql AS $$
    INSERT INTO seconds AS have
    SELECT r.agent_id, greatest(r.second, newest.second), coalesce(newest.upto, 0),
           coalesce(newest.upto, 0) + r.count
    FROM (
        SELECT a AS agent_id, max(s) AS second, sum(coalesce(n, 1))::bigint AS count
        FROM unnest(agents, seconds_of, counts) AS u (a, s, n)
        WHERE coalesce(n, 1) > 0 GROUP BY a
    ) AS r
    LEFT JOIN LATERAL (
        SELECT s.second, s.upto FROM seconds AS s
        WHERE s.agent_id = r.agent_id ORDER BY s.second DESC LIMIT 1
    ) AS newest ON true
    ON CONFLICT (agent_id, second) DO UPDATE SET upto = have.upto + excluded.upto - excluded.before;
$$;

-- Requests that ended without a record stay counted.
CREATE FUNCTION count_requests(agents text[], principals text[], ats_ms bigint[])
RETURNS void LANGUAGE sql AS $$
    INSERT INTO days
    SELECT kind, subject, day, count(*), 0, 0 FROM (
        SELECT 'agent' AS kind, a AS subject, (t / 86400000)::integer AS day
        FROM unnest(agents, ats_ms) AS r (a, t)
        UNION ALL
        SELECT 'principal', p, (t / 86400000)::integer FROM unnest(principals, ats_ms) AS r (p, t)
    ) AS requests
    GROUP BY kind, subject, day ORDER BY kind, subject, day
    ON CONFLICT (kind, subject, day) DO UPDATE SET requests = days.requests + excluded.requests;
    SELECT count_seconds(agents, (SELECT array_agg(t / 1000) FROM unnest(ats_ms) AS t), NULL);
$$;

-- Holds and reservations that were decided on the versions given. Returns the keys that have moved on
-- since: nothing was held for them.
CREATE FUNCTION hold_at(
    keys text[], versions bigint[], overtaken bigint[],
    h_token bigint[], h_key text[], h_ceiling text[], h_owner text, h_agent text[], h_principal text[],
    h_conversation text[], h_step integer[], h_cost bigint[], h_tokens bigint[], h_at_ms bigint[],
    h_expires_ms bigint[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE stale text[]; late record;
BEGIN
    PERFORM take_turns(keys);
    SELECT coalesce(array_agg(g.key), '{}') INTO stale
    FROM unnest(keys, versions) AS g (key, version) JOIN turns AS t USING (key)
    WHERE t.version <> g.version;
    IF cardinality(overtaken) > 0 THEN
        FOR late IN DELETE FROM holds WHERE token = ANY (overtaken) AND 'a:' || agent_id <> ALL (stale)
            RETURNING agent_id, principal_id, at_ms
        LOOP
            PERFORM count_requests(ARRAY[late.agent_id], ARRAY[late.principal_id], ARRAY[late.at_ms]);
        END LOOP;
    END IF;
    INSERT INTO holds
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

CREATE FUNCTION release_holds(keys text[], given bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE agents text[]; principals text[]; ats_ms bigint[];
BEGIN
    PERFORM take_turns(keys);
    WITH gone AS (DELETE FROM holds WHERE token = ANY (given) RETURNING agent_id, principal_id, at_ms)
    SELECT array_agg(agent_id), array_agg(principal_id), array_agg(at_ms)
    INTO agents, principals, ats_ms FROM gone;
    IF agents IS NOT NULL THEN
        PERFORM count_requests(agents, principals, ats_ms);
        UPDATE turns SET version = version + 1 WHERE key = ANY (keys);
    END IF;
END $$;

-- Records in their order, each all or nothing. The answer has one number for each: 0 written, 1 its hold is
-- gone, 2 its agent changed while it was at work (neither is written).
CREATE FUNCTION commit_records(
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

    INSERT INTO standings
    SELECT agent, sum(actions), NULL FROM unnest(r_agent, b_actions, verdicts) AS r (agent, actions, verdict)
    WHERE verdict = 0 AND actions > 0 GROUP BY agent ORDER BY agent
    ON CONFLICT (agent_id) DO UPDATE SET actions = standings.actions + excluded.actions;

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

    PERFORM count_seconds(
        (SELECT array_agg(r_agent[n] ORDER BY n) FROM generate_subscripts(r_agent, 1) AS n
         WHERE verdicts[n] = 0 AND b_requests[n] > 0),
        (SELECT array_agg(b_second[n] ORDER BY n) FROM generate_subscripts(r_agent, 1) AS n
         WHERE verdicts[n] = 0 AND b_requests[n] > 0),
        (SELECT array_agg(b_requests[n] ORDER BY n) FROM generate_subscripts(r_agent, 1) AS n
         WHERE verdicts[n] = 0 AND b_requests[n] > 0));

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
    RETURN verdicts;
END $$;

-- After a connection was lost in the middle of a commit: was it written? What was not, never will be: its
-- hold is gone. Waits for the lost transaction, if that is still at work.
CREATE FUNCTION settle_commits(keys text[], ids text[], given bigint[]) RETURNS boolean[]
LANGUAGE plpgsql AS $$
DECLARE written boolean[]; missing bigint[];
BEGIN
    PERFORM take_turns(keys);
    SELECT array_agg(a.activity_id IS NOT NULL ORDER BY number),
           array_agg(hold) FILTER (WHERE a.activity_id IS NULL AND hold IS NOT NULL)
    INTO written, missing
    FROM unnest(ids, given) WITH ORDINALITY AS r (id, hold, number)
    LEFT JOIN LATERAL (SELECT x.activity_id FROM activities AS x WHERE x.activity_id = r.id LIMIT 1) AS a
        ON true;
    IF missing IS NOT NULL THEN
        PERFORM release_holds(keys, missing);
    END IF;
    RETURN written;
END $$;

-- One batch of the ledger with its part of the tree and its signature, which takes the place of the one of
-- `replaced` entries, unless a witness has signed that too. Says whether it did.
CREATE FUNCTION append_ledger(
    ids bigint[], seqs bigint[], ats_ms bigint[], subjects text[], commitments bytea[], previous bytea[],
    hashes bytea[], levels integer[], idxs bigint[], nodes bytea[], c_at_ms bigint, c_token text,
    replaced bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE has_replaced boolean;
BEGIN
    INSERT INTO ledger SELECT * FROM unnest(seqs, ats_ms, subjects, commitments, previous, hashes);
    INSERT INTO tiles SELECT * FROM unnest(levels, idxs, nodes);
    DELETE FROM checkpoints WHERE size = replaced AND cosignatures IS NULL;
    has_replaced := FOUND;
    INSERT INTO checkpoints (size, at_ms, token) VALUES (seqs[cardinality(seqs)], c_at_ms, c_token);
    DELETE FROM pending WHERE id = ANY (ids);
    RETURN has_replaced;
END $$;
