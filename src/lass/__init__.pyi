from . import baselines as baselines
from . import collection as collection
from . import graph as graph
from . import solvers as solvers
from .graph import knn_graph as knn_graph
from .learning import active as active
from .learning.clustering import LaplacianKModes as LaplacianKModes
from .learning.estimator import LASS as LASS
from .learning.segmentation import Segmentation as Segmentation
from .learning.segmentation import segment as segment
from .model.problem import Problem as Problem
from .model.simplex import project_simplex as project_simplex
from .newitems.explanation import explain as explain
from .newitems.explanation import flips as flips
from .newitems.influences import influence as influence
from .newitems.influences import sources as sources
from .newitems.out_of_sample import NewItem as NewItem
from .newitems.out_of_sample import assign as assign
from .newitems.out_of_sample import path as path
from .newitems.spreads import spread as spread
from .solvers import distributed as distributed
from .solvers import gpu as gpu
from .solvers.solution import ConvergenceWarning as ConvergenceWarning
from .solvers.solution import Solution as Solution
from .solvers.solution import solve as solve
from .tagging.collection import Collection as Collection

__version__: str
