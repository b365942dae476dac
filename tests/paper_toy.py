"""The toy problem of the paper: its graph and labels, and the tables it prints."""

import numpy as np

POSITIVE = {"a": [1], "b": [2], "c": [1], "d": [4], "e": [1, 3], "f": [3], "g": [3, 4]}
NEGATIVE = {"a": 2, "d": 3}
EDGES = ["ab", "ad", "de", "ec", "cf", "eg"]

SSL = [
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [1, 0, 0, 0],
    [0, 0, 0, 1],
    [0.5, 0, 0.5, 0],
    [0, 0, 1, 0],
    [0, 0, 0.5, 0.5],
]
POSITIVE_ONLY = [
    [0.57, 0.28, 0.10, 0.05],
    [0.40, 0.60, 0, 0],
    [0.30, 0, 0.70, 0],
    [0.36, 0.08, 0.33, 0.23],
    [0.29, 0, 0.68, 0.03],
    [0.05, 0, 0.95, 0],
    [0, 0, 0.82, 0.18],
]
BOTH = [
    [0.90, 0, 0, 0.10],
    [0.70, 0.30, 0, 0],
    [0.60, 0, 0.40, 0],
    [0.70, 0, 0, 0.30],
    [0.57, 0, 0.37, 0.07],
    [0.35, 0, 0.65, 0],
    [0.24, 0, 0.53, 0.23],
]


def toy(negative):
    """Items a-g, then a'-g', each primed item with an edge to its own letter."""
    W, G = np.zeros((14, 14)), np.zeros((14, 4))
    for one, other in EDGES:
        i, j = ord(one) - ord("a"), ord(other) - ord("a")
        W[i, j] = W[j, i] = 1.0
    for i in range(7):
        W[i, i + 7] = W[i + 7, i] = 1.0
    for letter, categories in POSITIVE.items():
        for category in categories:
            G[ord(letter) - ord("a"), category - 1] = 1.0
    for letter, category in NEGATIVE.items() if negative else ():
        G[ord(letter) - ord("a"), category - 1] = -1.0
    return W, G
