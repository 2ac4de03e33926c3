-- expands
-- Who answers under an idempotency key just now. As with holds, after a crash of the server nobody does: a
-- record whose claim is gone is not written.
CREATE UNLOGGED TABLE key_claims (
    agent_id   text COLLATE "C" NOT NULL,
    key_hash   bytea NOT NULL,
    token      bigint NOT NULL,
    owner      text COLLATE "C" NOT NULL,
    expires_ms bigint NOT NULL,
    PRIMARY KEY (agent_id, key_hash)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- No row: the key is now the caller's. Else the answer that is kept under it, or until when another has it. A
-- claim whose lease has ended is taken over, with the hold that was made under it.
CREATE FUNCTION claim_key(
    c_agent text, c_hash bytea, c_token bigint, c_owner text, c_now_ms bigint, c_expires_ms bigint
) RETURNS TABLE (status integer, body bytea, expires_ms bigint, retry_after integer, until_ms bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE other record;
BEGIN
    PERFORM take_turns(ARRAY['a:' || c_agent]);
    RETURN QUERY SELECT m.status, m.body, m.expires_ms, m.retry_after, NULL::bigint FROM remembered AS m
        WHERE m.agent_id = c_agent AND m.key_hash = c_hash AND m.expires_ms > c_now_ms;
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT c.token, c.expires_ms INTO other FROM key_claims AS c
        WHERE c.agent_id = c_agent AND c.key_hash = c_hash;
    IF FOUND AND other.expires_ms > c_now_ms THEN
        RETURN QUERY SELECT NULL::integer, NULL::bytea, NULL::bigint, NULL::integer, other.expires_ms;
        RETURN;
    END IF;
    IF FOUND THEN
        PERFORM drop_holds(ARRAY[other.token]);
    END IF;
    INSERT INTO key_claims AS c VALUES (c_agent, c_hash, c_token, c_owner, c_expires_ms)
    ON CONFLICT (agent_id, key_hash) DO UPDATE
        SET token = excluded.token, owner = excluded.owner, expires_ms = excluded.expires_ms;
END $$;

-- As `record_decisions`, where the first writer under an idempotency key wins: a record whose claim (k_claim)
-- is not held any more is 3. Beside such a one nothing is written, and the others are NULL: ask again.
CREATE FUNCTION record_first_decisions(
    keys text[],
    r_id text[], r_agent text[], r_principal text[], r_at_ms bigint[], r_type text[], r_decision text[],
    r_error text[], r_conversation text[], r_cost bigint[], r_tokens bigint[], r_fingerprint bytea[],
    r_par text[], r_wid text[], r_salt bytea[], r_payload bytea[], r_commitment bytea[],
    r_hold bigint[], r_binding boolean[], r_status text[], r_trust smallint[],
    r_step integer[], r_state bytea[], r_approved boolean[], r_node text[], r_step_wid text[],
    b_day integer[], b_second bigint[], b_requests integer[], b_cost bigint[], b_tokens bigint[],
    b_actions integer[], has_kept boolean,
    k_hash bytea[], k_expires_ms bigint[], k_status integer[], k_body bytea[], k_retry integer[],
    r_crosses boolean[], k_claim bigint[]
) RETURNS smallint[] LANGUAGE plpgsql AS $$
DECLARE verdicts smallint[];
BEGIN
    IF has_kept THEN
        PERFORM take_turns(keys);
        SELECT array_agg(CASE WHEN r.hash IS NOT NULL AND c.token IS NULL THEN 3 END ORDER BY r.number)
        INTO verdicts
        FROM unnest(r_agent, k_hash, k_claim) WITH ORDINALITY AS r (agent, hash, claim, number)
        LEFT JOIN key_claims AS c ON c.agent_id = r.agent AND c.key_hash = r.hash AND c.token = r.claim;
        IF 3 = ANY (verdicts) THEN
            RETURN verdicts;
        END IF;
    END IF;
    verdicts := record_decisions(
        keys, r_id, r_agent, r_principal, r_at_ms, r_type, r_decision, r_error, r_conversation,
        r_cost, r_tokens, r_fingerprint, r_par, r_wid, r_salt, r_payload, r_commitment, r_hold,
        r_binding, r_status, r_trust, r_step, r_state, r_approved, r_node, r_step_wid, b_day,
        b_second, b_requests, b_cost, b_tokens, b_actions, has_kept, k_hash, k_expires_ms, k_status,
        k_body, k_retry, r_crosses);
    IF has_kept THEN
        DELETE FROM key_claims AS c USING unnest(r_agent, k_hash, verdicts) AS r (agent, hash, verdict)
        WHERE c.agent_id = r.agent AND c.key_hash = r.hash AND r.verdict = 0;
    END IF;
    RETURN verdicts;
END $$;
