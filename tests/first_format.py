"""A database of a collection as format 1 had it: no log of tags, and annotations in a table called words."""

FIRST_SCHEMA = """
CREATE TABLE items (
    row INTEGER PRIMARY KEY CHECK (row >= 0),
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    extra TEXT NOT NULL
) STRICT;
CREATE TABLE categories (
    "column" INTEGER PRIMARY KEY CHECK ("column" >= 0),
    name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    batch INTEGER NOT NULL,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    item INTEGER NOT NULL REFERENCES items,
    category INTEGER NOT NULL REFERENCES categories,
    value REAL NOT NULL CHECK (value IN (-1, 0, 1)),
    undoes INTEGER REFERENCES changes
) STRICT;
CREATE INDEX changes_of_word ON changes (item, category);
CREATE INDEX changes_of_batch ON changes (batch);
CREATE INDEX changes_undone ON changes (undoes) WHERE undoes IS NOT NULL;
CREATE TABLE words (
    item INTEGER NOT NULL REFERENCES items,
    category INTEGER NOT NULL REFERENCES categories,
    value REAL NOT NULL CHECK (value IN (-1, 1)),
    PRIMARY KEY (item, category)
) STRICT, WITHOUT ROWID;
"""
#: with two items, two tags and four changes
FIRST_FORMAT = (
    FIRST_SCHEMA
    + """
INSERT INTO items VALUES (0, 'a', '', '', '{}'), (1, 'b', '', '', '{}');
INSERT INTO categories VALUES (0, 'x'), (1, 'y');
INSERT INTO changes VALUES
    (1, 0, '2024-01-01T00:00:00.000+00:00', '', 0, 0, 1, NULL),
    (2, 1, '2024-01-02T00:00:00.000+00:00', 'ann', 1, 1, -1, NULL),
    (3, 2, '2024-01-03T00:00:00.000+00:00', 'ann', 1, 1, 0, 2),
    (4, 3, '2024-01-04T00:00:00.000+00:00', 'bob', 1, 0, 1, NULL);
INSERT INTO words VALUES (0, 0, 1), (1, 0, 1);
PRAGMA application_id = 0x4C415353;
PRAGMA user_version = 1;
"""
)
