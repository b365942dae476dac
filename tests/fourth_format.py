"""A database of a collection as format 4 had it: one annotation of an item and a tag, the last one made."""

FOURTH_FORMAT = """
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
CREATE INDEX changes_of_annotation ON changes (item, category);
CREATE INDEX changes_of_batch ON changes (batch);
CREATE INDEX changes_undone ON changes (undoes) WHERE undoes IS NOT NULL;
CREATE TABLE annotations (
    item INTEGER NOT NULL REFERENCES items,
    category INTEGER NOT NULL REFERENCES categories,
    value REAL NOT NULL CHECK (value IN (-1, 1)),
    PRIMARY KEY (item, category)
) STRICT, WITHOUT ROWID;
CREATE TABLE namings (
    number INTEGER PRIMARY KEY,
    batch INTEGER NOT NULL,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    category INTEGER NOT NULL REFERENCES categories,
    name TEXT NOT NULL,
    used INTEGER NOT NULL CHECK (used IN (0, 1)),
    merged INTEGER REFERENCES categories,
    undoes INTEGER REFERENCES namings
) STRICT;
CREATE INDEX namings_of_tag ON namings (category);
CREATE INDEX namings_of_batch ON namings (batch);
CREATE INDEX namings_undone ON namings (undoes) WHERE undoes IS NOT NULL;
CREATE TABLE retired (
    category INTEGER PRIMARY KEY REFERENCES categories,
    name TEXT NOT NULL
) STRICT;
CREATE TABLE flags (
    item INTEGER PRIMARY KEY REFERENCES items,
    at TEXT NOT NULL,
    who TEXT NOT NULL
) STRICT;

INSERT INTO items VALUES (0, 'a', '', '', '{}'), (1, 'b', '', '', '{}');
INSERT INTO categories VALUES (0, 'x'), (1, 'y'), (2, 'z');
INSERT INTO namings VALUES
    (-1, 0, '', '', 0, 'x', 1, NULL, NULL), (-2, 0, '', '', 1, 'y', 1, NULL, NULL),
    (-3, 0, '', '', 2, 'z', 1, NULL, NULL);
INSERT INTO changes VALUES
    (1, 0, '2024-01-01', '', 0, 0, 1, NULL),
    (2, 0, '2024-01-01', 'bob', 0, 1, 1, NULL),
    (3, 1, '2024-01-02', 'bob', 1, 0, 1, NULL),
    (4, 2, '2024-01-03', 'ann', 0, 0, -1, NULL),
    (5, 3, '2024-01-04', 'ann', 1, 0, -1, NULL),
    (6, 4, '2024-01-05', '', 1, 1, 1, NULL),
    (7, 5, '2024-01-06', 'cy', 0, 1, -1, NULL),
    (8, 6, '2024-01-07', 'cy', 0, 1, 1, 7),
    (9, 7, '2024-01-08', 'ann', 0, 2, 1, NULL);
INSERT INTO annotations VALUES (0, 0, -1), (0, 1, 1), (0, 2, 1), (1, 0, -1), (1, 1, 1);
PRAGMA application_id = 0x4C415353;
PRAGMA user_version = 4;
"""
