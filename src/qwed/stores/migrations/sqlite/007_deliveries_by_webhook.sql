-- The oldest few of each webhook, however much waits for one of them.
CREATE INDEX deliveries_waiting ON deliveries (webhook_id, due_ms) WHERE state = 'pending';
