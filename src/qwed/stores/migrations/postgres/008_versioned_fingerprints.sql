-- expands
-- As `hold_plain`, for fingerprints that say their version. What was written under the version before is
-- compared under it: a conversation that has such steps, and an action whose outcome is unknown under its
-- older fingerprint (h_older), are looked at in full, with all that was asked beside them.
CREATE FUNCTION hold_plain_versioned(
    keys text[], h_owner text, max_steps integer, this_day integer, oldest_second bigint,
    g_agent text[], g_body bytea[], g_hour bigint[], g_day bigint[], g_cost bigint[], g_tokens bigint[],
    h_token bigint[], h_agent text[], h_principal text[], h_conversation text[], h_step integer[],
    h_fingerprint bytea[], h_older bytea[], h_cost bigint[], h_tokens bigint[], h_at_ms bigint[],
    h_expires_ms bigint[]
) RETURNS TABLE (
    token bigint, last_node text, last_wid text, actions bigint, conduct bytea, requests bigint, cost bigint,
    tokens bigint, hour bigint, held bigint, today bigint, cost_held bigint, tokens_held bigint
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM take_turns(keys);
    IF EXISTS (
        SELECT 1 FROM unnest(h_agent, h_conversation) AS r (agent, conversation)
        JOIN steps AS x ON x.agent_id = r.agent AND x.conversation_id = r.conversation
        WHERE octet_length(x.fingerprint) = 32
    ) OR EXISTS (
        SELECT 1 FROM unnest(h_agent, h_older) AS r (agent, older)
        JOIN outcomes AS o ON o.agent_id = r.agent AND o.result = 'unknown' AND o.fingerprint = r.older
    ) THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT * FROM hold_plain(
        keys, h_owner, max_steps, this_day, oldest_second, g_agent, g_body, g_hour, g_day, g_cost, g_tokens,
        h_token, h_agent, h_principal, h_conversation, h_step, h_fingerprint, h_cost, h_tokens, h_at_ms,
        h_expires_ms);
END $$;
