-- What is in force: the row with the highest number. It is committed to the ledger like every row that decides.
CREATE TABLE policy_changes (
    number INTEGER PRIMARY KEY,
    body   BLOB NOT NULL,
    salt   BLOB
);
