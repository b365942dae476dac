"""
Portfolios from a few interviews
================================

An adviser has interviewed three investors: one wants bonds and no crypto, one crypto and no bonds, one
shares. Of all others only age and income are known. Similar investors should get similar portfolios, and
every portfolio must sum to one: soft assignments from signed affinities and a graph.
"""

import matplotlib.pyplot as plt
import numpy as np

import lass

rng = np.random.default_rng(4)
age, income = rng.uniform(25, 70, 300), rng.lognormal(11, 0.4, 300)
facts = np.column_stack([(age - age.mean()) / age.std(), np.log(income) - 11])
funds = ["bonds", "shares", "crypto"]

# %%
# The interviews: +1 "is for it", -1 "is against it".
affinities = np.zeros((300, 3))
oldest, youngest, richest = age.argmax(), age.argmin(), income.argmax()
affinities[oldest] = [1, 0, -1]
affinities[youngest] = [-1, 0, 1]
affinities[richest] = [0, 1, 0]

# %%
# Solve; the gap proves how close to the optimum the portfolios are.
solution = lass.solve(lass.knn_graph(facts, 10), affinities, lam=0.05)
print(f"at most {solution.relative_gap:.1e} of the stake from the optimum")

figure, grid = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained", sharey=True)
for axes, fund, share in zip(grid, funds, solution.Z.T, strict=True):
    dots = axes.scatter(age, income / 1000, c=share, cmap="viridis", vmin=0, vmax=1, s=18)
    for mark, sign in (("+", 1), ("_", -1)):
        who = affinities[:, funds.index(fund)] == sign
        axes.scatter(age[who], income[who] / 1000, marker=mark, s=260, c="crimson", linewidths=4)
    axes.set(title=f"share of {fund}", xlabel="age")
grid[0].set_ylabel("income, thousands a year")
figure.colorbar(dots, ax=grid)
plt.show()
