"""Collections of items with features and edges: whether edges count is up to hidden tags."""

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from command_line import run
from lass.tagging.preparation import graph_of

N, GROUPS = 160, 4


def items(seed, same, other):
    """Texts that tell groups apart a little, edges inside groups or across them, tags of half of all."""
    rng = np.random.default_rng(seed)
    group = rng.integers(GROUPS, size=N)
    own, common = rng.integers(12, size=(N, 2)), rng.integers(60, size=(N, 6))
    words = [[f"w{g}{one}" for one in a] + [f"c{one}" for one in b]
             for g, a, b in zip(group, own, common, strict=True)]  # fmt: skip
    texts = [{"id": f"i{row:03d}", "text": " ".join(one)} for row, one in enumerate(words)]
    A = np.triu(rng.random((N, N)) < np.where(group[:, None] == group, same, other), 1)
    tags = [(f"i{row:03d}", f"g{group[row]}") for row in range(N // 2)]
    return texts, sp.csr_array((A | A.T).astype(float)), tags, group


def right(made, group):
    """The share of items without tags whose first suggestion is the tag of their group."""
    first = {row.item: row.tag for row in made.suggest(top=1, untagged=True)}
    return np.mean([first.get(f"i{row:03d}") == f"g{group[row]}" for row in range(N // 2, N)])


def test_edges_that_help_count_and_a_sentence_says_so(tmp_path):
    texts, A, tags, group = items(0, 0.12, 0.01)
    with lass.create(tmp_path / "both", texts, text="text", edges=A, tags=tags, n_neighbors=10) as made:
        result = made.fit(draw_map=False)
        assert result.comparisons[-1].startswith("items are compared by ")
        assert "edges" in result.comparisons[-1].split(": +")[0]
        assert "80 hidden tags" in result.comparisons[-1]
        assert result.comparisons[-1] in repr(result)
        both = right(made, group)
        again = made.fit(draw_map=False)
        assert not again.recomputed
        assert again.comparisons == result.comparisons
        assert made.evaluate(seeds=1) is not None
    with lass.create(tmp_path / "text", texts, text="text", tags=tags, n_neighbors=10) as made:
        assert made.fit(draw_map=False).comparisons == ("texts are compared by words",)
        assert both > right(made, group) + 0.05


def test_edges_that_mislead_are_left_out(tmp_path):
    texts, A, tags, group = items(1, 0.0, 0.2)
    with lass.create(tmp_path / "both", texts, text="text", edges=A, tags=tags, n_neighbors=10) as made:
        reason = made.fit(draw_map=False).comparisons[-1]
        assert reason.startswith("items are compared by text alone: with edges -")
        both, graph = right(made, group), made.graph
    with lass.create(tmp_path / "text", texts, text="text", tags=tags, n_neighbors=10) as made:
        made.fit(draw_map=False)
        assert both == right(made, group)
        scale = graph.sum() / made.graph.sum()  # the mean weight of one
        np.testing.assert_allclose(graph.toarray(), scale * made.graph.toarray(), rtol=1e-5)


def test_the_same_state_gives_the_same_graph_whatever_came_before(tmp_path):
    texts, A, tags, _ = items(1, 0.0, 0.2)
    with lass.create(tmp_path / "a", texts, text="text", edges=A, n_neighbors=10) as made:
        first = made.fit(draw_map=False)
        assert first.comparisons[-1] == "items are compared by text and by edges"
        for item, tag in tags:
            made.tag(item, tag, new=True)
        made.fit(draw_map=False)
        late = made.graph.toarray()
    back = np.arange(N)[::-1]
    with lass.create(
        tmp_path / "b", texts[::-1], text="text", edges=A[back][:, back], tags=tags, n_neighbors=10
    ) as made:
        made.fit(draw_map=False)
        np.testing.assert_allclose(made.graph.toarray()[::-1, ::-1], late, rtol=1e-6)


def test_numbers_and_vectors_beside_edges(tmp_path):
    _, A, tags, group = items(0, 0.12, 0.01)
    rng = np.random.default_rng(0)
    rows = [{"id": f"i{row:03d}", "size": float(group[row] + rng.normal())} for row in range(N)]
    with lass.create(tmp_path / "n", rows, numeric="size", edges=A, tags=tags) as made:
        assert "by numbers" in made.fit(draw_map=False).comparisons[-1]
    vectors = np.eye(GROUPS)[group] + rng.normal(size=(N, GROUPS))
    with lass.create(tmp_path / "v", rows, vectors=vectors, edges=A, tags=tags) as made:
        assert "by vectors" in made.fit(draw_map=False).comparisons[-1]
        assert graph_of(made).shape == (N, N)


def test_the_command_line_takes_both_and_more_edges_later(tmp_path):
    texts, A, tags, _ = items(0, 0.12, 0.01)
    lines = ["id,text", *(f"{one['id']},{one['text']}" for one in texts)]
    (tmp_path / "items.csv").write_text("\n".join(lines))
    (tmp_path / "tags.csv").write_text("\n".join(["item,tag", *(f"{item},{tag}" for item, tag in tags)]))
    pairs = sp.triu(A).tocoo()
    edges = [f"i{a:03d},i{b:03d}" for a, b in zip(*pairs.coords, strict=True)]
    (tmp_path / "edges.csv").write_text("\n".join(["a,b", *edges]))
    folder = tmp_path / "both"
    common = ("--items", tmp_path / "items.csv", "--tags", tmp_path / "tags.csv")
    run("init", folder, *common, "--text", "text", "--edges", tmp_path / "edges.csv")
    assert "Items are compared by " in run("fit", folder, "--no-map").stdout
    (tmp_path / "more.csv").write_text("id,text\nnew,w01 w02\n")
    (tmp_path / "new.csv").write_text("a,b\nnew,i000\n")
    run("add", folder, "--items", tmp_path / "more.csv", "--edges", tmp_path / "new.csv")
    with lass.open(folder) as made:
        edges = made.saved_array("edges").matrix
        assert edges.nnz == A.nnz + 2
    assert "by edges" in run("fit", folder, "--no-map").stdout
    run("add", folder, "--edges", tmp_path / "edges.csv")
    assert "by edges" in run("fit", folder, "--no-map").stdout
    alone = tmp_path / "alone"
    run("init", alone, *common, "--text", "text")
    assert "not compared by edges" in run("add", alone, "--edges", tmp_path / "edges.csv", code=2).stderr


@pytest.mark.parametrize("tagged", [0, 3])
def test_with_few_tags_both_count(tmp_path, tagged):
    texts, A, tags, _ = items(0, 0.12, 0.01)
    with lass.create(tmp_path / "few", texts, text="text", edges=A, tags=tags[:tagged] or None) as made:
        assert made.fit(draw_map=False).comparisons[-1] == "items are compared by text and by edges"
