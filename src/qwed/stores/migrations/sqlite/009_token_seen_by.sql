-- Which keys were shown a token of an agent, as far as its activity still says so.
UPDATE agents SET body = CAST(
    substr(CAST(body AS TEXT), 1, length(CAST(body AS TEXT)) - 1) || ',"token_seen_by":' || (
        SELECT json_group_array(DISTINCT json_extract(CAST(payload AS TEXT), '$.requested_by'))
        FROM activities AS a
        WHERE a.agent_id = agents.agent_id AND a.decision = 'NOTED' AND a.payload IS NOT NULL
          AND a.action_type IN ('register_agent', 'rotate_token')
    ) || '}' AS BLOB);
