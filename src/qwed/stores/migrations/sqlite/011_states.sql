-- Rows that decide are committed to the ledger: the salt of the last commitment stands in the row. Rows that
-- are there already are taken over, once, when the file is opened.
ALTER TABLE agents ADD COLUMN salt BLOB;
ALTER TABLE keys ADD COLUMN salt BLOB;
ALTER TABLE approvals ADD COLUMN salt BLOB;
ALTER TABLE conduct ADD COLUMN salt BLOB;
ALTER TABLE trust_changes ADD COLUMN salt BLOB;
ALTER TABLE outcomes ADD COLUMN salt BLOB;
ALTER TABLE webhooks ADD COLUMN salt BLOB;
ALTER TABLE workflows ADD COLUMN salt BLOB;
ALTER TABLE workflow_nodes ADD COLUMN salt BLOB;

-- The entries about a row, newest last. Entries about activities and tokens are in neither.
CREATE INDEX ledger_states ON ledger (subject, seq, commitment)
    WHERE subject >= 'state:' AND subject < 'state;';
CREATE INDEX ledger_adopted ON ledger (subject, seq, commitment)
    WHERE subject >= 'adopt_state:' AND subject < 'adopt_state;';
