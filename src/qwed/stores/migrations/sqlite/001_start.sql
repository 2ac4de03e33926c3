-- The truth of one gateway. Money is in billionths of a US dollar, instants in milliseconds since
-- the epoch, hashes are raw bytes. Whole values live as JSON in `body`; columns are what is searched.

CREATE TABLE agents (
    agent_id     TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL,
    token_hash   BLOB NOT NULL UNIQUE,
    status       TEXT NOT NULL,
    violation    INTEGER NOT NULL,
    body         BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX agents_by_principal ON agents (principal_id, agent_id);

CREATE TABLE keys (
    key_id       TEXT PRIMARY KEY,
    key_hash     BLOB NOT NULL UNIQUE,
    principal_id TEXT,
    body         BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE activities (
    seq             INTEGER PRIMARY KEY,
    activity_id     TEXT NOT NULL UNIQUE,
    agent_id        TEXT NOT NULL,
    principal_id    TEXT NOT NULL,
    at_ms           INTEGER NOT NULL,
    action_type     TEXT NOT NULL,
    decision        TEXT NOT NULL,
    error_code      TEXT,
    conversation_id TEXT,
    cost_nano       INTEGER NOT NULL,
    tokens          INTEGER NOT NULL,
    fingerprint     BLOB NOT NULL,
    -- The nodes that caused this one, joined by commas; the workflow that tokens named.
    par             TEXT,
    wid             TEXT,
    salt            BLOB,
    payload         BLOB
);
-- Covers filters and the period summary, so that they never touch the payloads.
CREATE INDEX activities_by_agent ON activities
    (agent_id, seq, at_ms, decision, cost_nano, action_type, conversation_id);

-- One entry per activity, and per token received, under the same number. The chain outlives what is erased.
CREATE TABLE ledger (
    seq        INTEGER PRIMARY KEY,
    at_ms      INTEGER NOT NULL,
    subject    TEXT NOT NULL,
    commitment BLOB NOT NULL,
    previous   BLOB NOT NULL,
    hash       BLOB NOT NULL
);

-- Every fourth level of the Merkle tree over the entries; the leaves are the entries.
CREATE TABLE tiles (
    level INTEGER NOT NULL,
    idx   INTEGER NOT NULL,
    hash  BLOB NOT NULL,
    PRIMARY KEY (level, idx)
) WITHOUT ROWID;

-- Each group of writes is signed; of older signatures one a minute is kept, and every cosigned one.
CREATE TABLE checkpoints (
    size         INTEGER PRIMARY KEY,
    at_ms        INTEGER NOT NULL,
    token        TEXT NOT NULL,
    cosignatures BLOB
);

-- Execution context tokens, byte for byte as they came.
CREATE TABLE ects (
    jti          TEXT PRIMARY KEY,
    seq          INTEGER NOT NULL UNIQUE,
    salt         BLOB,
    token        BLOB,
    principal_id TEXT NOT NULL
) WITHOUT ROWID;

-- The ledger's own name, drawn when it was begun.
CREATE TABLE ledger_name (
    name TEXT NOT NULL
);

-- The primary key is the last line of defence: a step can't be used twice.
CREATE TABLE steps (
    agent_id        TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    step            INTEGER NOT NULL,
    fingerprint     BLOB NOT NULL,
    state           BLOB,
    approved        INTEGER NOT NULL,
    activity_id     TEXT NOT NULL,
    wid             TEXT,
    PRIMARY KEY (agent_id, conversation_id, step)
) WITHOUT ROWID;

-- kind is 'agent' or 'principal'.
CREATE TABLE days (
    kind      TEXT NOT NULL,
    subject   TEXT NOT NULL,
    day       INTEGER NOT NULL,
    requests  INTEGER NOT NULL,
    cost_nano INTEGER NOT NULL,
    tokens    INTEGER NOT NULL,
    PRIMARY KEY (kind, subject, day)
) WITHOUT ROWID;

CREATE TABLE seconds (
    agent_id TEXT NOT NULL,
    second   INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (agent_id, second)
) WITHOUT ROWID;
CREATE INDEX seconds_by_second ON seconds (second);

CREATE TABLE approvals (
    approval_id  TEXT PRIMARY KEY,
    agent_id     TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    status       TEXT NOT NULL,
    created_ms   INTEGER NOT NULL,
    ends_ms      INTEGER NOT NULL,
    body         BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX approvals_open ON approvals (agent_id, ends_ms) WHERE status = 'open';
CREATE INDEX approvals_by_principal ON approvals (principal_id, approval_id);

CREATE TABLE outcomes (
    activity_id TEXT PRIMARY KEY,
    agent_id    TEXT NOT NULL,
    result      TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    body        BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX outcomes_unsettled ON outcomes (agent_id) WHERE result = 'unknown';

CREATE TABLE remembered (
    agent_id   TEXT NOT NULL,
    key_hash   BLOB NOT NULL,
    expires_ms INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    body       BLOB NOT NULL,
    retry_after INTEGER,
    PRIMARY KEY (agent_id, key_hash)
) WITHOUT ROWID;
CREATE INDEX remembered_by_expiry ON remembered (expires_ms);

CREATE TABLE crossings (
    agent_id        TEXT NOT NULL,
    fingerprint     BLOB NOT NULL,
    conversation_id TEXT NOT NULL,
    at_ms           INTEGER NOT NULL,
    PRIMARY KEY (agent_id, fingerprint, conversation_id)
) WITHOUT ROWID;
CREATE INDEX crossings_by_time ON crossings (at_ms);

CREATE TABLE webhooks (
    webhook_id   TEXT PRIMARY KEY,
    principal_id TEXT,
    body         BLOB NOT NULL
) WITHOUT ROWID;
