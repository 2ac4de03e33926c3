-- Trust scores, as the gateway saw them move. All of it follows from the ledger, and can be computed again.
CREATE TABLE score_changes (
    peer         TEXT NOT NULL,
    number       INTEGER NOT NULL,
    event        TEXT NOT NULL,
    evidence     TEXT,
    score_before TEXT NOT NULL,
    score_after  TEXT NOT NULL,
    at           INTEGER NOT NULL,
    revokes      INTEGER NOT NULL,
    seq          INTEGER NOT NULL,
    PRIMARY KEY (peer, number)
) WITHOUT ROWID;
