"""What import-linter does not look at: cycles between single modules, and how many packages there are."""

import grimp
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components


def test_no_modules_import_each_other():
    graph = grimp.build_graph("lass", cache_dir=None)
    modules = sorted(graph.modules)
    place = {name: number for number, name in enumerate(modules)}
    pairs = [(place[a], place[b]) for a in modules for b in graph.find_modules_directly_imported_by(a)]
    importer, imported = np.array(pairs).T
    imports = sp.coo_array((np.ones(len(pairs)), (importer, imported)), shape=2 * (len(modules),))
    _, cycle = connected_components(imports, directed=True, connection="strong")
    found = [[modules[n] for n in np.flatnonzero(cycle == k)] for k in np.flatnonzero(np.bincount(cycle) > 1)]
    assert not found


def test_at_most_a_dozen_packages_and_no_loose_modules():
    children = grimp.build_graph("lass", cache_dir=None).find_children("lass")
    assert len(children - {"lass.__main__"}) <= 12
