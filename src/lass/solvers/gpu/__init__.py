"""The same problems on a GPU, with the same certificate."""

import lazy_loader

from lass.model.checks import install_hint

try:
    import torch  # noqa: F401
except ImportError as missing:
    raise ImportError(f"lass.solvers.gpu needs torch and triton: {install_hint('gpu')}") from missing

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
