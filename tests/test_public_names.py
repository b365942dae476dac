"""Names that other people's scripts rely on: what they are in any order of imports, and how to call them."""

import ast
import importlib
import inspect
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import lass

ROOT = Path(lass.__file__).parent
#: prints what each name of ``lass.__all__`` is after all were accessed in the order given
ACCESS = """
import json, sys, types
import lass
for name in json.loads(sys.argv[1]):
    try:
        getattr(lass, name)
    except ImportError as error:  # an extra that is not installed
        assert "pip install" in str(error), error
kinds = {}
for name in lass.__all__:
    try:
        kinds[name] = isinstance(getattr(lass, name), types.ModuleType)
    except ImportError:
        kinds[name] = True
print(json.dumps(kinds))
"""


def modules(folder):
    """The last part of the name of every module and package below a folder."""
    files = [path for path in folder.rglob("*.py") if "static" not in path.parts]
    return {path.parent.name if path.stem == "__init__" else path.stem for path in files}


def exports():
    """The folder of every package, and the name of each thing that it exports and that is no module."""
    for path in ROOT.rglob("__init__.py"):
        package = ".".join(("lass", *path.parent.relative_to(ROOT).parts))
        stub = path.with_suffix(".pyi")
        tree = ast.parse((stub if stub.exists() else path).read_text(encoding="utf-8"))
        for node in tree.body:
            # "from . import x" and "from .solvers import gpu" export modules
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                for alias in node.names:
                    if not _is_module(f"{_source(package, node)}.{alias.name}"):
                        yield path.parent, alias.asname or alias.name


def _source(package, node):
    base = package if node.level == 1 else ""
    return ".".join(part for part in (base, node.module) if part)


def _is_module(name):
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def orders():
    names = sorted(set(lass.__all__) - {"__version__"})
    shuffled = random.Random(0).sample(names, len(names))
    return {"sorted": names, "reversed": names[::-1], "shuffled": shuffled, "LASS first": ["LASS", "sources"]}


@pytest.mark.parametrize("order", list(orders()))
def test_names_are_the_same_in_every_order_of_access(order):
    command = [sys.executable, "-c", ACCESS, json.dumps(orders()[order])]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    kinds = json.loads(ended.stdout.splitlines()[-1])
    expected = {"active", "baselines", "collection", "distributed", "gpu", "graph", "solvers"}
    assert {name for name, is_module in kinds.items() if is_module} == expected


def test_public_functions_share_no_name_with_a_module():
    """Of the root with no module anywhere; of another package with none inside it."""
    assert not [f"{folder.name}.{name}" for folder, name in exports() if name in modules(folder)]


def test_stubs_name_what_the_packages_load():
    """Stubs are not seen by import-linter: beyond the root, a package may export only what lies within it."""
    for stub in ROOT.rglob("*/__init__.pyi"):
        for node in ast.walk(ast.parse(stub.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 1, f"{stub}: {ast.unparse(node)}"


KEYWORD_ONLY = ("fixed", "prior", "method", "tol", "max_iter", "start", "callback")
#: the first parameters in order, and others by name with their defaults
SIGNATURES = {
    "solve": (["W", "G", "lam"], {"lam": 1.0, "method": "auto", "tol": 1e-5} | dict.fromkeys(
        ("fixed", "prior", "max_iter", "start", "callback"))),
    "Problem": (["W", "G", "lam"], {}),
    "project_simplex": (["V"], {}),
    "knn_graph": (["X", "n_neighbors"], {"n_neighbors": 10, "metric": "euclidean", "weights": "self-tuning"}),
    "assign": (["W_new", "Z", "G_new", "lam"], {"G_new": None, "lam": 1.0}),
    "path": (["w", "Z", "g"], {}),
    "LASS": ([], {"lam": "auto", "n_neighbors": 10, "metric": "euclidean", "prior": None, "sharpen": None,
                  "tol": 1e-5}),
    "LASS.fit": (["self", "X", "y"], {}),
    "LASS.predict": (["self", "X"], {}),
    "LASS.predict_proba": (["self", "X"], {"g": None, "lam": None}),
    "LASS.path": (["self", "x", "g"], {}),
    "baselines.harmonic": (["W", "y"], {}),
    "baselines.class_mass": (["W", "y"], {}),
    "baselines.normalized": (["W", "y", "alpha"], {}),
    "baselines.labels_from_affinities": (["G", "eps"], {}),
    "LaplacianKModes": (["n_clusters"], {"bandwidth": ..., "lam": ...}),
    "LaplacianKModes.fit": (["self", "X"], {}),
    "LaplacianKModes.predict": (["self", "X"], {}),
    "segment": (["image", "markers"], {"lam": ..., "negative": None, "prior": None, "channel_axis": None}),
    "Solution.multipliers": (["self"], {}),
    "Solution.kkt": (["self"], {}),
    "Solution.uniqueness": (["self"], {}),
    "Solution.update": (["self"], {"G": ..., "lam": ...}),
    "Problem.objective": (["self", "Z"], {}),
    "Problem.gradient": (["self", "Z"], {}),
    "Problem.gap": (["self", "Z"], {}),
    "open": (["folder"], {}),
    "create": (["folder", "items"], {"text": ..., "tags": None, "vectors": None, "edges": None}),
    "Collection.fit": (["self"], {}),
    "Collection.suggest": (["self"], {"top": 5, "items": None}),
    "Collection.tag": (["self", "item", "tags"], {}),
    "Collection.undo": (["self"], {}),
    "Collection.evaluate": (["self"], {}),
    "Collection.export": (["self", "path"], {}),
}  # fmt: skip


def find(name):
    found = lass
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    first, named = SIGNATURES[name]
    parameters = inspect.signature(find(name)).parameters
    assert list(parameters)[: len(first)] == first
    for parameter, default in named.items():
        assert parameter in parameters
        assert default is ... or parameters[parameter].default == default
    for parameter in list(parameters)[len(first) :]:
        kind = parameters[parameter]
        assert kind.default is not kind.empty or kind.kind in (kind.VAR_KEYWORD, kind.VAR_POSITIONAL)


def test_solve_takes_its_options_by_name_alone():
    parameters = inspect.signature(lass.solve).parameters
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in KEYWORD_ONLY)


@pytest.mark.parametrize("name", ["items", "tags", "annotations"])
def test_properties_of_a_collection(name):
    assert isinstance(inspect.getattr_static(lass.Collection, name), property)


def test_attributes_of_a_solution():
    import numpy as np

    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    sol = lass.solve(W, np.array([[1.0, 0.0], [0.0, 0.0]]), lam=1.0)
    for name in (
        "Z", "objective", "gap", "relative_gap", "converged", "method", "n_iter", "seconds", "history",
    ):  # fmt: skip
        assert hasattr(sol, name)
    assert sol.uniqueness().slack.shape == (2, 2)
    assert isinstance(bool(sol.uniqueness().unique), bool)
    assert lass.Problem(W, np.eye(2), 1.0).stake > 0
    breakpoints = lass.path(np.array([1.0, 0.0]), sol.Z, np.array([1.0, 0.0]))
    assert len(breakpoints.lams) == len(breakpoints.assignments)
    assert breakpoints(1.0).shape == (2,)


def test_attributes_of_a_fitted_estimator():
    import numpy as np

    X = np.arange(12.0).reshape(-1, 1)
    model = lass.LASS(n_neighbors=3).fit(X, np.array([0, *[-1] * 10, 1]))
    for name in ("assignments_", "transduction_", "classes_", "graph_", "solution_", "lam_"):
        assert hasattr(model, name)


def test_packages_can_be_imported_by_name():
    for name in ("lass.baselines", "lass.graph", "lass.solvers", "lass.collection", "lass.tagging"):
        importlib.import_module(name)
