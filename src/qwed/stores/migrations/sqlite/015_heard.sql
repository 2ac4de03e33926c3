-- What a conversation has heard: values as keyed hashes, encrypted under the key of the conversation. The key is
-- made from the salt; without it nothing here can be read.
CREATE TABLE heard_keys (
    agent_id        TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    salt            BLOB NOT NULL,
    at_ms           INTEGER NOT NULL,
    PRIMARY KEY (agent_id, conversation_id)
) WITHOUT ROWID;
CREATE INDEX heard_keys_by_time ON heard_keys (at_ms);
CREATE TABLE heard (
    agent_id        TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    report_id       TEXT NOT NULL,
    number          INTEGER NOT NULL,
    body            BLOB NOT NULL,
    PRIMARY KEY (agent_id, conversation_id, report_id)
) WITHOUT ROWID;
CREATE INDEX heard_by_number ON heard (agent_id, conversation_id, number);
