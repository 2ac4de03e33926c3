-- expands
-- How far a move from a file into this database has come: as long as a row is here, no gateway starts on it. The row
-- without a name says which file it is.
CREATE TABLE moving (
    name text COLLATE "C" PRIMARY KEY,
    done bigint NOT NULL,
    mark text NOT NULL
);
