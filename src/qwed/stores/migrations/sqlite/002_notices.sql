-- What is on its way to a webhook. `due_ms` is when it is tried next; `body` is the event as JSON.
CREATE TABLE deliveries (
    delivery_id     TEXT PRIMARY KEY,
    webhook_id      TEXT NOT NULL,
    principal_id    TEXT,
    event_id        TEXT NOT NULL,
    event           TEXT NOT NULL,
    created_ms      INTEGER NOT NULL,
    due_ms          INTEGER NOT NULL,
    body            BLOB NOT NULL,
    state           TEXT NOT NULL,
    attempts        INTEGER NOT NULL,
    last_attempt_ms INTEGER,
    last_error      TEXT
) WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (due_ms, webhook_id) WHERE state = 'pending';
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, delivery_id);

-- When an open approval needs the gateway's attention next.
ALTER TABLE approvals ADD COLUMN attention_ms INTEGER NOT NULL DEFAULT 0;
UPDATE approvals SET attention_ms = ends_ms;
CREATE INDEX approvals_by_attention ON approvals (attention_ms) WHERE status = 'open';
