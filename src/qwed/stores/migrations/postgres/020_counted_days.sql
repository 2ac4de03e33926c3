-- expands

-- Pages of everybody's entries begin with the newest. Parts that exist already get theirs beside running
-- gateways (`build_indexes` in schema.py); new ones have it from the start.
CREATE INDEX activities_by_number ON ONLY activities (id);
DROP INDEX activities_by_id;

-- What the entries of an agent come to, by day: nobody counts them again to show a page. The leader adds what
-- has its place in the ledger; what it has not added yet is counted when somebody asks.
CREATE TABLE agent_days (
    agent_id  text COLLATE "C" NOT NULL,
    day       integer NOT NULL,
    decision  text COLLATE "C" NOT NULL,
    entries   bigint NOT NULL,
    cost_nano numeric NOT NULL,
    PRIMARY KEY (agent_id, day, decision)
) WITH (fillfactor = 70);
CREATE TABLE counted_until (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    seq bigint NOT NULL
);
INSERT INTO counted_until (seq) VALUES (0);

-- Count the next stretch of the ledger. How many entries it had.
CREATE FUNCTION count_entries(stretch integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE since bigint; upto bigint;
BEGIN
    SELECT seq INTO since FROM counted_until FOR UPDATE;
    SELECT least(since + stretch, coalesce(max(seq), 0)) INTO upto FROM ledger;
    IF upto <= since THEN
        RETURN 0;
    END IF;
    INSERT INTO agent_days
    SELECT a.agent_id, (a.at_ms / 86400000)::integer, a.decision, count(*), sum(a.cost_nano)
    FROM ledger AS l JOIN activities AS a ON a.activity_id = l.subject AND a.at_ms = l.at_ms
    WHERE l.seq > since AND l.seq <= upto GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (agent_id, day, decision) DO UPDATE SET
        entries = agent_days.entries + excluded.entries, cost_nano = agent_days.cost_nano + excluded.cost_nano;
    UPDATE counted_until SET seq = upto;
    RETURN upto - since;
END $$;
