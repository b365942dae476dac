"""More files for a collection that is there: new items, known ones, several files, pictures."""

import numpy as np
import pytest
from PIL import Image

import lass
from command_line import run
from lass.collection import Item
from lass.collection.adding import add_files
from lass.collection.reading import BadInput, read_tags
from lass.collection.search import NOT_FOUND

ITEMS = [
    {"id": "mutt", "title": "Mutt", "text": "reads mail", "size": "1"},
    {"id": "nethack", "title": "Nethack", "text": "a dungeon game", "size": "2"},
]
TABLE = "id,title,text,size,tags\nmutt,Mutt 2,sends mail,,new;-old\ngo,Go,a board game,3,game\n"


@pytest.fixture
def collection(tmp_path):
    how = {"id": "id", "text": "text", "tags": {"mutt": ["mail"]}, "embed": "none"}
    with lass.create(tmp_path / "c", ITEMS, **how) as made:
        yield made


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "more.csv"
    path.write_text(TABLE)
    return path


def test_known_items_stop_it_before_anything_changes(collection, table):
    with pytest.raises(ValueError, match="'mutt' is in the collection already"):
        add_files(collection, items=table, tag_column="tags")
    assert collection.ids() == ["mutt", "nethack"]
    assert collection.tags == ["mail"]


def test_known_items_are_left_out_with_their_tags(collection, table, tmp_path):
    tags = tmp_path / "tags.csv"
    tags.write_text("item,tag,value\nmutt,fast,1\n")
    added = add_files(collection, items=table, tags=tags, tag_column="tags", existing="keep")
    assert (added.items, added.updated, added.left_out, added.annotations) == (1, 0, 1, 2)
    assert collection.get_items(["mutt"]) == [Item("mutt", "Mutt", "reads mail", {"size": "1"})]
    assert collection.annotations_of("mutt") == {"mail": 1, "fast": 1}
    assert collection.annotations_of("go") == {"game": 1}


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def test_known_items_are_updated(collection, table):
    collection.fit(draw_map=False)
    before = collection.features.copy()
    assert collection.search("reads mail").ranks[0] < NOT_FOUND
    added = add_files(collection, items=table, tag_column="tags", existing="update")
    assert (added.items, added.updated, added.left_out, added.annotations) == (1, 1, 0, 3)
    assert collection.get_items(["mutt"]) == [Item("mutt", "Mutt 2", "sends mail", {})]
    assert collection.annotations_of("mutt") == {"mail": 1, "new": 1, "old": -1}
    assert collection.search("reads mail").ranks[0] == NOT_FOUND
    assert "features" in collection.stale()
    collection.fit(draw_map=False)
    assert not collection.stale()
    assert not np.array_equal(dense(collection.features), dense(before))
    unchanged = add_files(collection, items=table, tag_column="tags", existing="update")
    assert (unchanged.items, unchanged.updated) == (0, 0)


def test_columns_that_the_file_does_not_have_stay(collection, tmp_path):
    path = tmp_path / "sizes.csv"
    path.write_text("id,size,color\nmutt,5,red\n")
    add_files(collection, items=path, existing="update", no_text=True)
    assert collection.get_items(["mutt"]) == [
        Item("mutt", "Mutt", "reads mail", {"size": "5", "color": "red"})
    ]


def test_the_command_says_what_became_of_the_rows(collection, table):
    folder = collection.path
    assert "already" in run("add", folder, "--items", table, code=2).stderr
    out = run("add", folder, "--items", table, "--tag-column", "tags", "--existing", "keep").stdout
    assert "1 item and 1 annotation added, 1 row about items that are there left out" in out
    out = run("add", folder, "--items", table, "--tag-column", "tags", "--existing", "update").stdout
    assert "0 items and 3 annotations added, 1 item updated" in out


def test_several_files_at_once(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("id,text,x\na,some words,1\n")
    second.write_text("id,text,y\nb,other words,2\n")
    with lass.create(tmp_path / "c", [first, second], text="text", embed="none") as made:
        assert [dict(item.extra) for item in made.items] == [{"x": "1"}, {"y": "2"}]
        tags = [tmp_path / "t1.csv", tmp_path / "t2.csv"]
        for path, item in zip(tags, "ab", strict=True):
            path.write_text(f"item,tag\n{item},x\n")
        add_files(made, tags=tags)
        assert [one.item for one in made.annotations] == ["a", "b"]
        made.export(tmp_path / "out.csv", what="table")
        assert (
            tmp_path / "out.csv"
        ).read_text() == "id,text,x,y,tags\na,some words,1,,x\nb,other words,,2,x\n"
    second.write_text("id,text,y\na,other words,2\n")
    with pytest.raises(BadInput, match=r"b\.csv: item 'a' is in .*a\.csv already"):
        lass.create(tmp_path / "d", [first, second], text="text")


def pictures(folder, names):
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        Image.fromarray(np.full((20, 20, 3), len(name) * 9, np.uint8)).save(folder / name)
    return folder


def test_pictures_in_the_folder_of_the_collection(tmp_path):
    from lass.collection.importing import read_new

    new = read_new(items=pictures(tmp_path / "up", ["a.png", "deep/b.png"]), embed="none")
    made = lass.Collection.create(tmp_path / "c", new.items, settings=new.settings, pictures=tmp_path / "up")
    with made:
        made.fit(draw_map=False)
        assert made.features.shape[0] == 2
        added = add_files(made, items=pictures(tmp_path / "more", ["a.png", "c.png"]), copy=True)
        assert (added.items, added.left_out) == (1, 1)
        assert made.ids() == ["a.png", "deep/b.png", "c.png"]
        assert (tmp_path / "c" / "pictures" / "c.png").is_file()
    (tmp_path / "c").rename(tmp_path / "moved")
    with lass.open(tmp_path / "moved") as moved:
        moved.fit(draw_map=False)
        assert moved.features.shape[0] == 3


def test_what_each_person_stated_comes_back(collection, tmp_path):
    for who, value in (("ann", 1), ("bob", -1), ("eve", 1)):
        collection.annotate("nethack", {"game": value}, who=who, new=True)
    for ending in ("csv", "tsv", "json", "jsonl", "parquet"):
        path = tmp_path / f"people.{ending}"
        collection.export(path, what="people")
        assert sorted(read_tags(path).annotations) == sorted(collection.annotations)
        with lass.create(tmp_path / ending, ITEMS, id="id", text="text", tags=path, embed="none") as again:
            assert sorted(again.annotations) == sorted(collection.annotations)
            assert again.annotations_of("nethack") == {"game": 1}
