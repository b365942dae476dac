"""
Tags that change over time
==========================

Handwritten digits stand for items whose class changes once within ten periods, together with all that look
like them. Only one cell in fifty, an item in a period, is labelled. A tensor of items x periods x classes,
with a graph of similar pictures and a path over the periods, follows each item through time.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import lass

rng = np.random.default_rng(1)
X, y = load_digits(return_X_y=True)
N, M, K = 800, 10, 10
X, y = X[:N], y[:N]
W = lass.knn_graph(X, 10)

# %%
# A third of the items change: from some period on their class is that of another digit.
classes = np.repeat(y[:, None], M, axis=1)
for digit, into, period in ((1, 7, 4), (3, 8, 6), (9, 4, 2)):
    classes[y == digit, period:] = into

# %%
# One in fifty cells is labelled.
labelled = rng.random((N, M)) < 0.02
G = np.zeros((N, M, K))
rows, periods = np.nonzero(labelled)
G[rows, periods, classes[rows, periods]] = 1.0
path = np.eye(M, k=1) + np.eye(M, k=-1)

# %%
# With the path, without it (each period for itself), and all periods in one.
tensor = lass.solve_tensor([W, path], G, lams=[1.0, 0.3])
apart = lass.solve_tensor([W, None], G, lams=1.0)
constant = lass.solve_tensor([W, path], G, lams=[1.0, np.inf])
hidden = ~labelled
rates = {}
for name, solution in (
    ("path over periods", tensor),
    ("each period alone", apart),
    ("one for all", constant),
):
    right = (solution.Z.argmax(axis=2) == classes) & hidden
    rates[name] = right.sum(axis=0) / hidden.sum(axis=0)
    print(f"{name}: {right.sum() / hidden.sum():.3f}, relative gap {solution.relative_gap:.1e}")

# %%
# Accuracy by period, and how much of the items that begin as 1 and become 7 is either.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
for name, values in rates.items():
    left.plot(values, marker="o", label=name)
left.set(xlabel="period", ylabel="accuracy of cells without a label", ylim=(0, 1))
left.legend(loc="lower left")
ones = tensor.Z[y == 1].mean(axis=0)
right.plot(ones[:, 1], marker="o", label="1")
right.plot(ones[:, 7], marker="o", label="7")
right.axvline(3.5, color="0.7")
right.set(xlabel="period", ylabel="mean share of the items that change", ylim=(0, 1))
right.legend()
figure.tight_layout()
