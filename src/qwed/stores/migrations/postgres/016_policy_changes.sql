-- expands
-- What is in force: the row with the highest number. It is committed to the ledger like every row that decides.
CREATE TABLE policy_changes (
    number bigint PRIMARY KEY,
    body   bytea NOT NULL,
    salt   bytea
);
CREATE TRIGGER committed BEFORE INSERT OR UPDATE OR DELETE ON policy_changes
    FOR EACH ROW EXECUTE FUNCTION require_commitment();

-- Called before anything is written. Whoever decides holds the lock together with others; whoever changes what is
-- in force holds it alone. So when a change is written, every decision under the one before it is written already.
CREATE FUNCTION require_policy(numbers bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(numbers) = 0 THEN
        RETURN true;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(7932019);
    IF EXISTS (SELECT 1 FROM unnest(numbers) AS decided
               WHERE decided <> (SELECT coalesce(max(number), 0) FROM policy_changes)) THEN
        RAISE EXCEPTION 'another policy is in force' USING ERRCODE = 'QW001';
    END IF;
    RETURN true;
END $$;

-- The same, for whoever writes change number `following`.
CREATE FUNCTION follow_policy(following bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(7932019);
    RETURN following = 1 + (SELECT coalesce(max(number), 0) FROM policy_changes);
END $$;
