"""LASS: complete the tags of a collection from a few annotations and many similarities.

Parts are loaded when first used, so that importing takes no time.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"
