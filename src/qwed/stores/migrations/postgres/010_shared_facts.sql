-- expands
-- What many decisions were made from (an agent's permissions, a policy), each once, by its content's hash.
CREATE TABLE shared_facts (
    digest text COLLATE "C" PRIMARY KEY,
    body   bytea NOT NULL
);
