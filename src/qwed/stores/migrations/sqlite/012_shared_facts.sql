-- What many decisions were made from (an agent's permissions, a policy), each once, by its content's hash.
CREATE TABLE shared_facts (
    digest TEXT PRIMARY KEY,
    body   BLOB NOT NULL
) WITHOUT ROWID;
