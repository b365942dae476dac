"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

import lass

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "LASS"
author = "the LASS authors"
version = release = lass.__version__
html_title = f"LASS {release}"

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
# methods that come from scikit-learn refer to pages of its own documentation
suppress_warnings = ["ref.ref"]

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc writes them already
numpydoc_show_class_members = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # seconds of one machine tell a reader nothing
    "write_computation_times": False,  # a page with scripts from elsewhere
    "remove_config_comments": True,
    "plot_gallery": True,
}

html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_css_files = ["docs.css"]
html_show_sourcelink = False
# pages without others beside them have no list of these
html_sidebars = {page: [] for page in ("start", "commands", "data", "scores", "contributing", "changelog")}
html_theme_options = {
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = "the LASS authors, BSD-3-Clause"
