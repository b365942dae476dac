"""Where a solve runs, and whether it fits there."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from lass.model.quadratic_program import QuadraticProgram
from lass.solvers.gpu.batch import WIDEST, Layout, is_dense

#: the share of free memory that is counted on; kernels and the allocator need some of it
USABLE = 0.95


def checked_device(device: str | torch.device) -> torch.device:
    """The device that is meant, if it is there."""
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        found = torch.device("meta")
    if found.type not in ("cuda", "cpu"):
        raise ValueError(f"device must be 'cuda', 'cuda:1', ... or 'cpu'; found {device!r}")
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise ValueError(
            f"device={str(device)!r} needs an NVIDIA GPU that torch can see; found "
            f"{torch.cuda.device_count()}. Use device='cpu', or lass.solve without a device"
        )
    return found


def free_bytes(device: torch.device) -> int | None:
    """Memory that can be had on a GPU; None for a processor, which swaps before it refuses."""
    if device.type != "cuda":
        return None
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(USABLE * (torch.cuda.mem_get_info(device)[0] + held))


def needed(qps: list[QuadraticProgram]) -> int:
    """Bytes that solving these problems together takes on the device."""
    rows, size = qps[0].shape
    operator: Any = qps[0].operator
    affinities = sum(qp.H.nnz for qp in qps)
    return Layout(rows, len(qps), size).bytes_needed(operator.W.nnz, affinities, is_dense(qps))


def fitting(qps: list[QuadraticProgram], device: torch.device) -> list[list[QuadraticProgram]]:
    """The problems in batches that fit into the memory of the device, planned before anything is put there.

    Raises ``ValueError`` with both numbers when even one alone does not.
    """
    rows, size = qps[0].shape
    if size > WIDEST:
        raise ValueError(f"G must have at most {WIDEST:,} categories on a device; found {size:,}")
    free = free_bytes(device)
    batches: list[list[QuadraticProgram]] = [[]]
    for qp in qps:
        if free is not None and needed([qp]) > free:
            raise ValueError(
                f"device={str(device)!r} has {free / 2**30:.1f} GiB to give, but {rows:,} items x {size:,} "
                f"categories need {needed([qp]) / 2**30:.1f} GiB. Use lass.solve without a device, "
                "or fewer categories at a time"
            )
        if free is not None and batches[-1] and needed([*batches[-1], qp]) > free:
            batches.append([])
        batches[-1].append(qp)
    return batches


def on_host(matrix: Any) -> Any:
    """A tensor, sparse or not, as NumPy and SciPy have it; anything else as it is.

    Examples
    --------
    >>> import torch
    >>> from lass.solvers.gpu.placement import on_host
    >>> on_host(torch.eye(2).to_sparse()).toarray()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if not isinstance(matrix, torch.Tensor):
        return matrix
    matrix = matrix.detach().cpu()
    if matrix.layout == torch.strided:
        return matrix.numpy()
    if matrix.layout != torch.sparse_coo:
        parts = (matrix.values().numpy(), matrix.col_indices().numpy(), matrix.crow_indices().numpy())
        return sp.csr_array(parts, shape=tuple(matrix.shape))
    matrix = matrix.coalesce()
    rows, columns = (np.asarray(part) for part in matrix.indices().numpy())
    return sp.csr_array((matrix.values().numpy(), (rows, columns)), shape=tuple(matrix.shape))
