-- needs code that knows 009
-- Rows that decide are committed to the ledger: the salt of the last commitment stands in the row. Rows that
-- are there already are taken over, once, by the first gateway that starts.
ALTER TABLE agents ADD COLUMN salt bytea;
ALTER TABLE keys ADD COLUMN salt bytea;
ALTER TABLE approvals ADD COLUMN salt bytea;
ALTER TABLE standings ADD COLUMN salt bytea;
ALTER TABLE trust_changes ADD COLUMN salt bytea;
ALTER TABLE outcomes ADD COLUMN salt bytea;
ALTER TABLE webhooks ADD COLUMN salt bytea;
ALTER TABLE workflows ADD COLUMN salt bytea;
ALTER TABLE workflow_nodes ADD COLUMN salt bytea;

CREATE INDEX pending_states ON pending (subject, id) WHERE subject >= 'state:' AND subject < 'state;';
CREATE INDEX pending_adopted ON pending (subject, id)
    WHERE subject >= 'adopt_state:' AND subject < 'adopt_state;';

-- The newest entry about a row: one that still waits for its place, else the last in the ledger, else the one
-- that took the row over.
CREATE FUNCTION last_state(about text) RETURNS TABLE (seq bigint, commitment bytea) LANGUAGE sql STABLE AS $$
    SELECT found.seq, found.commitment FROM (
        (SELECT 1 AS turn, 0::bigint AS seq, p.commitment FROM pending AS p
         WHERE p.subject = 'state:' || about AND p.subject >= 'state:' AND p.subject < 'state;'
         ORDER BY p.id DESC LIMIT 1)
        UNION ALL
        (SELECT 2, l.seq, l.commitment FROM ledger AS l WHERE l.subject = 'state:' || about
         ORDER BY l.seq DESC LIMIT 1)
        UNION ALL
        (SELECT 3, 0, p.commitment FROM pending AS p
         WHERE p.subject = 'adopt_state:' || about
           AND p.subject >= 'adopt_state:' AND p.subject < 'adopt_state;' ORDER BY p.id DESC LIMIT 1)
        UNION ALL
        (SELECT 4, l.seq, l.commitment FROM ledger AS l WHERE l.subject = 'adopt_state:' || about
         ORDER BY l.seq DESC LIMIT 1)
    ) AS found ORDER BY found.turn LIMIT 1
$$;

-- A gateway from before writes such a row without its entry, and everybody would take the row for tampered
-- with. It is refused instead: a row gets a new salt with each write, and none before it is deleted.
CREATE FUNCTION require_commitment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.salt IS NOT NULL THEN
            RAISE EXCEPTION 'a row of % goes with an entry in the ledger: upgrade this gateway', TG_TABLE_NAME;
        END IF;
        RETURN OLD;
    END IF;
    IF (TG_OP = 'INSERT' AND NEW.salt IS NULL) OR (TG_OP = 'UPDATE' AND NEW.salt IS NOT DISTINCT FROM OLD.salt)
    THEN
        RAISE EXCEPTION 'a row of % is written with an entry in the ledger: upgrade this gateway', TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER committed BEFORE INSERT OR UPDATE OR DELETE ON agents
    FOR EACH ROW EXECUTE FUNCTION require_commitment();
CREATE TRIGGER committed BEFORE INSERT OR UPDATE OR DELETE ON keys
    FOR EACH ROW EXECUTE FUNCTION require_commitment();
CREATE TRIGGER committed BEFORE INSERT OR UPDATE OR DELETE ON approvals
    FOR EACH ROW EXECUTE FUNCTION require_commitment();
CREATE TRIGGER committed BEFORE INSERT OR UPDATE OR DELETE ON trust_changes
    FOR EACH ROW EXECUTE FUNCTION require_commitment();
CREATE TRIGGER committed BEFORE INSERT OR UPDATE OR DELETE ON webhooks
    FOR EACH ROW EXECUTE FUNCTION require_commitment();
CREATE TRIGGER committed BEFORE INSERT OR UPDATE OR DELETE ON workflows
    FOR EACH ROW EXECUTE FUNCTION require_commitment();
CREATE TRIGGER committed BEFORE INSERT OR UPDATE OR DELETE ON workflow_nodes
    FOR EACH ROW EXECUTE FUNCTION require_commitment();
-- An outcome that everybody knows decides nothing, and how often an agent acted is a counter.
CREATE TRIGGER committed BEFORE DELETE ON outcomes FOR EACH ROW EXECUTE FUNCTION require_commitment();
CREATE TRIGGER committed_row BEFORE INSERT OR UPDATE ON outcomes FOR EACH ROW
    WHEN (NEW.result = 'unknown' OR NEW.salt IS NOT NULL) EXECUTE FUNCTION require_commitment();
CREATE TRIGGER committed BEFORE DELETE ON standings FOR EACH ROW EXECUTE FUNCTION require_commitment();
CREATE TRIGGER committed_row BEFORE INSERT ON standings FOR EACH ROW
    WHEN (NEW.conduct IS NOT NULL) EXECUTE FUNCTION require_commitment();
CREATE TRIGGER changed_row BEFORE UPDATE ON standings FOR EACH ROW
    WHEN (NEW.conduct IS DISTINCT FROM OLD.conduct) EXECUTE FUNCTION require_commitment();
