-- expands
-- Which keys were shown a token of an agent, as far as its activity still says so. Bodies are taken as text:
-- one may hold an escaped NUL, which no JSON function here accepts; quotation marks within texts are escaped.
UPDATE agents SET body = convert_to(
    regexp_replace(convert_from(body, 'UTF8'), '}$', '') || ',"token_seen_by":[' || coalesce((
        SELECT string_agg(DISTINCT '"' || substring(
            convert_from(payload, 'UTF8') from '"requested_by":"([^"\\]*)"') || '"', ',')
        FROM activities AS a
        WHERE a.agent_id = agents.agent_id AND a.decision = 'NOTED' AND a.payload IS NOT NULL
          AND a.action_type IN ('register_agent', 'rotate_token')
    ), '') || ']}', 'UTF8');
