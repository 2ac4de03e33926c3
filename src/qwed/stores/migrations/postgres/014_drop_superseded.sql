-- needs code that knows 009
-- Functions that no gateway calls any more which can still work with this schema.
DROP FUNCTION hold_at;
DROP FUNCTION commit_records;
