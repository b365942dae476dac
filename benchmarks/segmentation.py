"""Seeded segmentation against scikit-image's random walker, and what only this one can do.

    python -m benchmarks.segmentation

The same picture, seeds and weights for all; errors are against the direct solution (mode "bf"), to
which labels are compared too. Needs scikit-image, and pyamg for its multigrid mode.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skimage import data
from skimage.segmentation import random_walker

from benchmarks.common import results
from benchmarks.common.measuring import Timed, fastest, timed
from benchmarks.common.options import parser, run
from lass.learning.segmentation import segment


def strokes() -> NDArray[np.int64]:
    """Background, face and suit of the astronaut, in strokes on 512 x 512 pixels."""
    markers = np.zeros((512, 512), int)
    markers[5:40, 5:200] = markers[60:90, 430:470] = markers[300:340, 380:420] = 1
    markers[100:180, 200:240] = 2
    markers[400:480, 180:300] = 3
    return markers


def row(name: str, found: Timed, Z: NDArray[Any], exact: NDArray[Any]) -> dict[str, Any]:
    """One line of the table: seconds, error, agreement, how far rows are from probabilities."""
    line = {
        "name": name, "seconds": found.seconds, "processor_seconds": found.processor,
        "largest_error": float(np.abs(Z - exact).max()),
        "agreement": float((Z.argmax(axis=-1) == exact.argmax(axis=-1)).mean()),
        "row_sums_off": float(np.abs(Z.sum(axis=-1) - 1).max()), "least_entry": float(Z.min()),
    }  # fmt: skip
    print(
        f"{name:28} {line['seconds']:7.3f} s {line['processor_seconds']:7.3f} cpu s  "
        f"error {line['largest_error']:.1e}  same labels {line['agreement']:.4%}  "
        f"row sums off {line['row_sums_off']:.1e}",
        flush=True,
    )
    return line


def pictures(repeat: int) -> list[dict[str, Any]]:
    """Compare on 512 x 512 pixels in colour, three labels."""
    image, markers = data.astronaut() / 255.0, strokes()

    def walk(mode: str) -> Callable[[], NDArray[Any]]:
        def probabilities() -> NDArray[Any]:
            found = random_walker(image, markers, mode=mode, channel_axis=-1, return_full_prob=True)
            return np.moveaxis(found, 0, -1)

        return probabilities

    direct, multigrid = (fastest(walk(mode), repeat) for mode in ("bf", "cg_mg"))
    ours = fastest(lambda: segment(image, markers, channel_axis=-1), repeat)
    exact = direct.result
    return [
        row("random_walker bf", direct, exact, exact),
        row("random_walker cg_mg", multigrid, multigrid.result, exact),
        row("segment", ours, ours.result.probabilities, exact),
    ]


def more(repeat: int) -> dict[str, float]:
    """Time what the random walker cannot do, and a volume."""
    image, markers = data.astronaut() / 255.0, strokes()
    stroke = np.zeros_like(markers)
    stroke[250:260, 100:140] = 1
    times: dict[str, float] = {}

    def added(**what: Any) -> float:
        before = [segment(image, markers, channel_axis=-1) for _ in range(repeat)]
        return min(timed(lambda one=one: one.add(**what)).seconds for one in before)

    times["one more stroke"] = added(markers=stroke)
    times["one more negative stroke"] = added(negative=np.where(stroke, 3, 0))
    coloured = fastest(lambda: segment(image, markers, 0.5, prior="colour", channel_axis=-1), repeat)
    times["colour model, lam 0.5"] = coloured.seconds
    rng = np.random.default_rng(0)
    ball = np.square(np.indices((64, 64, 64)) - 31.5).sum(axis=0) < 20**2
    volume = ball + 0.3 * rng.normal(size=ball.shape)
    seeds = np.zeros(ball.shape, int)
    seeds[26:38, 26:38, 26:38], seeds[:2], seeds[-2:], seeds[:, :2], seeds[:, -2:] = 1, 2, 2, 2, 2
    for count in (6, 26):
        name = f"64-cube, {count} neighbours"
        found, times[name], _ = fastest(lambda n=count: segment(volume, seeds, neighbors=n), repeat)
        times[f"{name}, share of voxels right"] = float(((found.labels == 1) == ball).mean())
    for name, value in times.items():
        print(f"{name:50} {value:.3f}", flush=True)
    return times


def main() -> None:
    """Measure, print the table and write the numbers."""
    options = parser(__doc__)
    options.add_argument("--repeat", type=int, default=3, help="runs after one that warms up")
    arguments = options.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, times = pictures(arguments.repeat), more(arguments.repeat)
    packages = ("scikit-image", "pyamg")
    results.add(arguments.out / "segmentation.json", {"rows": rows, "seconds": times}, packages=packages)


if __name__ == "__main__":
    run(main)
