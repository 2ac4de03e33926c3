-- expands
-- Trust scores, as the gateway saw them move. All of it follows from the ledger, and can be computed again.
CREATE TABLE score_changes (
    peer         text COLLATE "C" NOT NULL,
    number       bigint NOT NULL,
    event        text COLLATE "C" NOT NULL,
    evidence     text COLLATE "C",
    score_before text COLLATE "C" NOT NULL,
    score_after  text COLLATE "C" NOT NULL,
    at           bigint NOT NULL,
    revokes      boolean NOT NULL,
    seq          bigint NOT NULL,
    PRIMARY KEY (peer, number)
);
