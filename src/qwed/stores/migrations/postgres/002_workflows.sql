-- expands
-- Policy tokens that were accepted, and which of their nodes are done.
CREATE TABLE workflows (
    workflow_id  text COLLATE "C" PRIMARY KEY,
    principal_id text COLLATE "C" NOT NULL,
    body         bytea NOT NULL
);

CREATE TABLE workflow_nodes (
    workflow_id text COLLATE "C" NOT NULL,
    node_id     text COLLATE "C" NOT NULL,
    jti         text COLLATE "C" NOT NULL,
    PRIMARY KEY (workflow_id, node_id)
);
