CREATE TABLE trainer (
    id INTEGER PRIMARY KEY CHECK (id = 1), terms TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 0,  -- that the next batch is for
    published INTEGER NOT NULL DEFAULT -1,  -- version of the weights
    weights BLOB
) STRICT;
CREATE TABLE counts (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT;
CREATE TABLE tickets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given anew: a late worker may still name it
    task TEXT NOT NULL, seed INTEGER NOT NULL, "group" TEXT NOT NULL, member INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'leased', 'done', 'lost')),
    tries INTEGER NOT NULL DEFAULT 0, worker INTEGER NOT NULL DEFAULT -1,
    expires REAL NOT NULL DEFAULT 0,
    version INTEGER,  -- of the first action; at least this while it is leased
    episode BLOB,
    uses INTEGER NOT NULL DEFAULT 0,
    UNIQUE ("group", member)
) STRICT;
CREATE INDEX unfinished ON tickets (state) WHERE state IN ('waiting', 'leased');
