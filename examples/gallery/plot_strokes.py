"""
Segmentation from positive and negative strokes
===============================================

Strokes on a photograph mark the astronaut, the flag and the background. The random walker of scikit-image
takes such strokes. What it cannot take is a stroke for "not this segment", which leaves open what else it
is, nor the colours under the strokes; here both are affinities of the same problem.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from skimage.segmentation import mark_boundaries, random_walker
from skimage.transform import rescale

from lass.learning.segmentation import segment

image = rescale(data.astronaut() / 255, 0.5, channel_axis=-1, anti_aliasing=True)

# %%
# Few strokes, as a person would draw them: the astronaut is 1, the flag 2, the background 3.
markers = np.zeros(image.shape[:2], int)
markers[190:215, 70:150] = markers[50:75, 105:120] = 1
markers[120:150, 5:25] = 2
markers[10:20, 10:90] = markers[60:70, 180:240] = 3

# %%
# The flag takes the arm, and the astronaut the helmet. Two negative strokes correct that.
negative = np.zeros_like(markers)
negative[160:185, 25:45] = 2
negative[190:240, 165:205] = 1

walker = random_walker(image, markers, mode="bf", channel_axis=-1)
ours = segment(image, markers, channel_axis=-1)
same = (ours.labels == walker).mean()
print(f"labels as the random walker's: {same:.2%}")
labels = {
    "random walker": walker,
    "the same strokes here": ours.labels,
    "and two more: not flag, not astronaut": ours.add(negative=negative).labels,
    "and the colours under all strokes": segment(
        image, markers, lam=10, negative=negative, prior="colour", channel_axis=-1
    ).labels,
}

# %%
# Strokes in the colour of their segment, negative ones hatched.
colours = np.array([[1.0, 0.55, 0.0], [0.1, 0.8, 0.3], [0.2, 0.4, 0.95]])
painted = 0.6 + 0.4 * image
painted[markers > 0] = colours[markers[markers > 0] - 1]
hatched = (np.indices(markers.shape).sum(axis=0) // 4) % 2 == 0
painted[(negative > 0) & hatched] = colours[negative[(negative > 0) & hatched] - 1]
figure, grid = plt.subplots(1, 5, figsize=(17, 3.8), layout="constrained")
grid[0].imshow(painted)
grid[0].set_title("strokes; hatched: not this one", fontsize=10)
for axes, (name, found) in zip(grid[1:], labels.items(), strict=True):
    tinted = 0.5 * image + 0.5 * colours[found - 1]
    axes.imshow(mark_boundaries(tinted, found, color=(1, 1, 1)))
    axes.set_title(name, fontsize=10)
for axes in grid:
    axes.axis("off")
plt.show()
