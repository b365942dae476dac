"""
Annotators who see things differently
=====================================

Not all people mean the same by a tag. Here eight annotators tag software packages with what they are for;
five use the tags as the real collection does, three use a coarser scheme of their own. Each tags a few items.
A tensor of items x annotators x tags, with a graph of similar items and one of annotators who agree, recovers
how each of them would tag all items, and a consensus, better than throwing all tags into one.
"""

import csv
import gzip

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import lass
from lass.collection.bundled import debian

rng = np.random.default_rng(0)

# %%
# Items are bundled Debian packages with exactly one of six uses; texts are their summaries and descriptions.
USES = [
    "use::gameplaying",
    "use::editing",
    "use::viewing",
    "use::learning",
    "use::monitor",
    "use::converting",
]
with gzip.open(debian().tags, "rt", encoding="utf-8") as file:
    stated = [(row["item"], USES.index(row["tag"])) for row in csv.DictReader(file) if row["tag"] in USES]
counts = {}
for item, _ in stated:
    counts[item] = counts.get(item, 0) + 1
truth = {item: use for item, use in stated if counts[item] == 1}
with gzip.open(debian().items, "rt", encoding="utf-8") as file:
    texts = {row["package"]: f"{row['summary']} {row['description']}" for row in csv.DictReader(file)}
items = sorted(truth)
use = np.array([truth[item] for item in items])
W = lass.knn_graph(
    TfidfVectorizer(sublinear_tf=True).fit_transform([texts[i] for i in items]), 10, metric="cosine"
)
print(f"{len(items)} items, {np.bincount(use)} a use")

# %%
# The second kind of annotator merges games and lessons, viewers and monitors, editors and converters.
coarse = np.array([3, 1, 2, 3, 2, 1])[use]
views = np.array([use] * 5 + [coarse] * 3)
labels = np.full(views.shape, -1)
for annotator, view in enumerate(views):
    some = rng.choice(len(items), len(items) // 25, replace=False)
    slips = rng.random(len(some)) < 0.1
    labels[annotator, some] = np.where(slips, rng.integers(6, size=len(some)), view[some])
G = np.zeros((len(items), len(views), 6))
annotators, rows = np.nonzero(labels >= 0)
G[rows, annotators, labels[annotators, rows]] = 1.0

# %%
# Annotators agree as far as one's tags are what the other's, carried to all items by the graph, would have
# been there. Each has an edge to the two who agree most.
alone = lass.solve_tensor([W, None], G, lams=1.0)
agreement = np.zeros((len(views),) * 2)
for a in range(len(views)):
    known = np.flatnonzero(labels[a] >= 0)
    for b in range(len(views)):
        agreement[a, b] = alone.Z[known, b, labels[a, known]].mean() if a != b else 0.0
agreement = (agreement + agreement.T) / 2
nearest = np.argsort(-agreement, axis=1)[:, :2]
edges = np.zeros_like(agreement)
np.put_along_axis(edges, nearest, 1.0, axis=1)
edges = np.maximum(edges, edges.T)

# %%
# The tensor against pooling: how each annotator would tag the items that nobody tagged.
tensor = lass.solve_tensor([W, edges], G, lams=[1.0, 2.0])
pooled = lass.solve(W, G.sum(axis=1), lam=1.0)
untagged = (labels < 0).all(axis=0)


def accuracy(found, view):
    """The share of untagged items whose largest category is that annotator's."""
    return float((found[untagged].argmax(axis=1) == view[untagged]).mean())


rates = {
    "pooled": [accuracy(pooled.Z, view) for view in views],
    "each alone": [accuracy(alone.Z[:, a], view) for a, view in enumerate(views)],
    "tensor": [accuracy(tensor.Z[:, a], view) for a, view in enumerate(views)],
}
for name, values in rates.items():
    print(f"{name}: first kind {np.mean(values[:5]):.3f}, second kind {np.mean(values[5:]):.3f}")
consensus = accuracy(tensor.Z[:, :5].mean(axis=1), use)
print(f"consensus of the first kind: {consensus:.3f}, pooled: {accuracy(pooled.Z, use):.3f}")
print(f"relative gap {tensor.relative_gap:.1e}")

# %%
# Accuracy for each annotator, by method; on the right, who agrees with whom.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), width_ratios=(2, 1))
places = np.arange(len(views))
for i, (name, values) in enumerate(rates.items()):
    left.bar(places + 0.27 * (i - 1), values, 0.25, label=name)
left.set(
    xlabel="annotator (the last three use the coarser scheme)", ylabel="accuracy", ylim=(0, 1), xticks=places
)
left.legend(loc="lower left", ncols=3, fontsize=8)
right.imshow(edges, cmap="Blues")
right.set(title="edges between annotators", xticks=places, yticks=places)
figure.tight_layout()
