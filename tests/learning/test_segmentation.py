"""Segments from strokes, held against scikit-image, dense linear algebra and an interior-point method."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.segmentation import random_walker

from lass.learning.segmentation import segment
from lass.learning.segmentation.pixels import colour_affinities, grid_graph
from oracle import Case


def plain_graph(image, spacing, beta, corners):
    """Weights pixel by pixel."""
    shape = image.shape[:-1]
    pixels = list(itertools.product(*map(range, shape)))
    W = np.zeros((len(pixels), len(pixels)))
    scale = beta / (10 * image.std() * np.sqrt(image.shape[-1]))
    for (i, p), (j, q) in itertools.combinations(enumerate(pixels), 2):
        step = np.abs(np.subtract(p, q))
        if step.max() == 1 and (corners or step.sum() == 1):
            difference = np.sum((image[p] - image[q]) ** 2) / np.sum((step * spacing) ** 2)
            W[i, j] = W[j, i] = (np.exp(-scale * difference) + 1e-10) / step.sum() ** 2
    return W


def harmonic(W, codes, size):
    """Probabilities between seeds by dense linear algebra, and how far rounding may move them."""
    free, seeds = np.flatnonzero(codes < 0), np.flatnonzero(codes >= 0)
    L = np.diag(W.sum(axis=1)) - W
    between = L[np.ix_(free, free)]
    Z = np.zeros((len(codes), size))
    Z[seeds] = np.eye(size)[codes[seeds]]
    Z[free] = np.linalg.solve(between, -L[np.ix_(free, seeds)] @ Z[seeds])
    return Z, np.finfo(float).eps * np.linalg.cond(between)


def plain_graph_of(image):
    """Weights of the sides of a grey picture, at beta = 20, row by row."""
    rows, columns = image.shape
    W = np.zeros((image.size, image.size))
    for n, value in enumerate(image.flat):
        below, right = n + columns, n + 1
        for m in ([below] if n // columns < rows - 1 else []) + ([right] if right % columns else []):
            W[n, m] = W[m, n] = np.exp(-2.0 / image.std() * (value - image.flat[m]) ** 2) + 1e-10
    return W


def noisy(shape, seed=0):
    """A step from dark to bright with noise, and a seed of each at its ends."""
    rng = np.random.default_rng(seed)
    image = np.zeros(shape)
    image[..., shape[-1] // 2 :] = 1.0
    image += 0.2 * rng.normal(size=shape)
    markers = np.zeros(shape, int)
    markers[(*(0,) * len(shape),)], markers[(*(-1,) * len(shape),)] = 1, 2
    return image, markers


def check_valid(found):
    assert (found.probabilities >= 0).all()
    np.testing.assert_allclose(found.probabilities.sum(axis=-1), 1.0, rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    shape=st.sampled_from(((1, 5), (4, 6), (3, 3, 4))),
    channels=st.integers(1, 4),
    corners=st.booleans(),
    size=st.integers(2, 4),
)
def test_probabilities_between_seeds_are_harmonic(seed, shape, channels, corners, size):
    rng = np.random.default_rng(seed)
    image, spacing = rng.random((*shape, channels)), rng.uniform(0.5, 2, len(shape))
    codes = np.full(np.prod(shape), -1)
    codes[rng.permutation(len(codes))[:size]] = np.arange(size)
    W = plain_graph(image, spacing, 60.0, corners)
    graph = grid_graph(image, spacing, 60.0, corners, np.ones(shape, bool))
    np.testing.assert_allclose(graph.toarray(), W, rtol=1e-12)
    few, many = (4, 8) if len(shape) == 2 else (6, 26)
    found = segment(
        image, codes.reshape(shape) + 1, beta=60.0, spacing=spacing, channel_axis=-1, tol=1e-12,
        neighbors=many if corners else few,
    )  # fmt: skip
    check_valid(found)
    # between seeds with very small weights dense linear algebra is off by more than 1e-7 itself
    expected, rounding = harmonic(W, codes, size)
    np.testing.assert_allclose(
        found.probabilities.reshape(-1, size), expected, rtol=0, atol=max(1e-8, rounding)
    )


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((40, 50), {}),
        ((30, 30, 3), {"channel_axis": -1}),
        ((5, 20, 30), {"channel_axis": 0}),
        ((8, 9, 10), {"spacing": [2.0, 1.0, 0.5]}),
    ],
)
def test_seeds_alone_give_what_the_random_walker_gives(shape, options):
    rng = np.random.default_rng(3)
    image = rng.random(shape)
    plain = np.moveaxis(image, options["channel_axis"], -1)[..., 0] if "channel_axis" in options else image
    markers = np.zeros(plain.shape, int)
    markers[rng.random(plain.shape) < 0.02] = 1
    markers[(rng.random(plain.shape) < 0.02) & (markers == 0)] = 2
    markers[0].flat[:3] = [1, 2, 3]
    found = segment(image, markers, tol=1e-10, **options)
    peer = np.moveaxis(random_walker(image, markers, mode="bf", return_full_prob=True, **options), 0, -1)
    np.testing.assert_allclose(found.probabilities, peer, atol=1e-6)
    assert (found.labels == peer.argmax(axis=-1) + 1).mean() > 0.99
    check_valid(found)


@pytest.mark.parametrize("seed", range(4))
def test_a_negative_stroke_takes_a_segment_away_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    image = rng.random((5, 6))
    markers = np.zeros((5, 6), int)
    markers[0, 0], markers[4, 5], markers[0, 5] = 1, 2, 3
    negative = {1: rng.random((5, 6)) < 0.2, 2: rng.random((5, 6)) < 0.2}
    negative[1] &= markers != 1
    negative[2] &= markers != 2
    found = segment(image, markers, negative=negative, beta=10.0, tol=1e-9)
    check_valid(found)
    W = plain_graph(image[..., None], np.ones(2), 10.0, False)
    G = np.zeros((30, 3))
    for label, mask in negative.items():
        G[mask.ravel(), label - 1] = -50.0
        assert (found.probabilities[mask & (markers == 0), label - 1] == 0).all()
    fixed = {int(n): int(markers.flat[n]) - 1 for n in np.flatnonzero(markers)}
    expected = Case(W, G, 1.0, {"fixed": fixed}).oracle()
    np.testing.assert_allclose(found.probabilities.reshape(-1, 3), expected, atol=2e-3)


def test_the_slider_goes_from_the_region_model_to_smoothness():
    image, markers = noisy((12, 16))
    model = np.random.default_rng(1).random((12, 16, 2))
    alone = segment(image, markers, lam=0, prior=model)
    free = markers == 0
    np.testing.assert_array_equal(alone.labels[free], model.argmax(axis=-1)[free] + 1)
    smooth = segment(image, markers, lam=1e6, prior=model, tol=1e-9)
    seeds = segment(image, markers, tol=1e-9)
    np.testing.assert_allclose(smooth.probabilities, seeds.probabilities, atol=1e-2)
    for found in (alone, smooth, segment(image, markers, prior="colour")):
        check_valid(found)


def test_colours_of_the_strokes_find_a_region_without_a_stroke_of_its_own():
    image = np.zeros((20, 40))
    image[:, 10:20] = image[:, 30:] = 1.0
    markers = np.zeros(image.shape, int)
    markers[5, 3], markers[5, 15] = 1, 2
    truth = 1 + (image > 0.5)
    assert (segment(image, markers, prior="colour", lam=0.3).labels == truth).all()
    assert (segment(image, markers).labels != truth).any()


def test_colour_affinities_of_many_channels():
    rng = np.random.default_rng(0)
    colours = np.repeat(rng.random((2, 6)), 20, axis=0) + 0.01 * rng.normal(size=(40, 6))
    codes = np.full(40, -1)
    codes[0], codes[20] = 0, 1
    G = colour_affinities(colours, codes, 2)
    np.testing.assert_allclose(G.sum(axis=1), 1.0)
    np.testing.assert_array_equal(G.argmax(axis=1), np.repeat([0, 1], 20))


@pytest.mark.parametrize("prior", [None, "colour"])
def test_adding_strokes_is_segmenting_with_all_of_them(prior):
    image, markers = noisy((30, 40))
    more, negative = np.zeros_like(markers), np.zeros_like(markers)
    more[20, 5] = 2
    more[3, 30] = 3
    negative[10, 10:14] = 1
    grown = segment(image, markers, prior=prior, tol=1e-8)
    grown.add(more).add(negative=negative)
    whole = segment(image, markers + more, prior=prior, negative=negative, tol=1e-8)
    np.testing.assert_array_equal(grown.names, [1, 2, 3])
    np.testing.assert_allclose(grown.probabilities, whole.probabilities, atol=2e-3)
    check_valid(grown)


def test_more_strokes_on_a_picture_are_harmonic():
    image, markers = noisy((40, 50))
    W = plain_graph_of(image)
    more = np.zeros_like(markers)
    more[30, 10], more[5, 40] = 2, 1
    found = segment(image, markers, beta=20.0, tol=1e-5)
    for strokes in (markers, markers + more):
        expected, _ = harmonic(W, strokes.ravel() - 1, 2)
        np.testing.assert_allclose(found.probabilities.reshape(-1, 2), expected, atol=2e-3)
        check_valid(found)
        found.add(more)


def test_more_strokes_on_a_volume_too_large_for_a_factor_are_harmonic():
    image, markers = noisy((44, 44, 44))
    more = np.zeros_like(markers)
    more[30, 10, 10], more[5, 40, 35] = 2, 1
    found = segment(image, markers, neighbors=26, tol=1e-6)
    for strokes in (markers, markers + more):
        Z, free = found.probabilities.reshape(-1, 2), strokes.ravel() == 0
        means = (found.graph @ Z) / found.graph.sum(axis=1)[:, None]
        np.testing.assert_allclose(Z[free], means[free], atol=1e-5)
        np.testing.assert_array_equal(Z[~free], np.eye(2)[strokes[strokes > 0] - 1])
        found.add(more)


def test_a_later_stroke_counts_more_than_an_earlier_one():
    image, markers = noisy((8, 10))
    found = segment(image, markers)
    repaint = np.zeros_like(markers)
    repaint[0, 1] = 2
    assert found.add(repaint).labels[0, 1] == 2
    negative = np.where(repaint, 2, 0)
    assert found.add(negative=negative).labels[0, 1] != 2
    assert found.add(repaint).labels[0, 1] == 2


def test_pixels_left_out_and_out_of_reach():
    image, markers = noisy((6, 9))
    markers[:, 4] = -1
    markers[-1, -1], markers[2, 1] = 0, 2
    image[3, 4] = np.nan
    found = segment(image, markers)
    assert (found.labels[:, 4] == -1).all()
    assert (found.labels[:, 5:] == 0).all(), "no stroke reaches beyond the gap"
    assert (found.labels[:, :4] > 0).all()
    check_valid(found)
    np.testing.assert_array_equal(found.probabilities[:, 5:], 0.5)


def test_a_volume_of_some_size():
    image, markers = noisy((16, 16, 16))
    found = segment(image, markers, neighbors=26)
    assert (found.labels == 1 + (np.indices(image.shape)[2] >= 8)).mean() > 0.98
    check_valid(found)


def test_a_picture_without_contrast():
    markers = np.zeros((4, 5), int)
    markers[:, 0], markers[:, -1] = 1, 2
    found = segment(np.ones((4, 5)), markers, tol=1e-12)
    np.testing.assert_allclose(found.probabilities[0, :, 0], [1, 0.75, 0.5, 0.25, 0], atol=1e-9)


GREY, SEEDS = noisy((4, 5))
NAN = GREY.copy()
NAN[1, 2] = np.nan


@pytest.mark.parametrize(
    ("image", "markers", "options", "message"),
    [
        (GREY, np.zeros((4, 5), int), {}, "no number > 0"),
        (GREY, np.where(SEEDS == 1, 1, 0), {}, "two labels"),
        (GREY, np.zeros((4, 4), int), {}, "shape"),
        (GREY, SEEDS + 0.5, {}, "whole numbers"),
        (NAN, SEEDS, {}, r"nan.*\(1, 2\)"),
        (GREY, SEEDS, {"negative": np.full((4, 5), 3)}, "negative names label 3"),
        (GREY, SEEDS, {"negative": np.where(SEEDS == 1, 1, 0)}, "contradict"),
        (GREY, SEEDS, {"negative": {1: SEEDS == 0, 2: SEEDS == 0}}, "none of the 2 labels"),
        (GREY, SEEDS, {"negative": {1: np.ones((4, 5))}}, "mask of bool"),
        (GREY, SEEDS, {"negative": {"a": SEEDS == 0}}, "labels > 0"),
        (GREY, SEEDS, {"negative": SEEDS[:2]}, "negative must have one number"),
        (GREY, SEEDS, {"lam": -1}, "lam"),
        (GREY, SEEDS, {"beta": np.nan}, "beta"),
        (GREY, SEEDS, {"neighbors": 6}, "neighbors must be 4 or 8"),
        (GREY, SEEDS, {"spacing": [1, 0]}, "spacing"),
        (GREY, SEEDS, {"prior": "texture"}, "prior"),
        (GREY, SEEDS, {"prior": np.zeros((4, 5))}, "prior"),
        (GREY, SEEDS * 2, {"prior": np.zeros((4, 5, 2))}, "label 4"),
        (GREY, SEEDS, {"channel_axis": 5}, "channel_axis"),
        (GREY[0], SEEDS[0], {}, "picture or a volume"),
    ],
)
def test_bad_input_is_a_clear_error(image, markers, options, message):
    with pytest.raises(ValueError, match=message):
        segment(image, markers, **options)


def test_contradiction_within_one_added_stroke():
    found = segment(GREY, SEEDS)
    stroke = np.zeros_like(SEEDS)
    stroke[2, 2] = 1
    with pytest.raises(ValueError, match="contradict"):
        found.add(stroke, negative=stroke)
    check_valid(found)
