"""A report on a collection as one HTML page that needs no other file.

Parts are loaded when first used, so that importing takes no time.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
