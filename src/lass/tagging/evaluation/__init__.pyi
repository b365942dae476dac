from .evaluating import evaluate as evaluate
from .plotting import plot_evaluation as plot_evaluation
from .result import FILE as FILE
from .result import Evaluation as Evaluation
from .result import MetricValues as MetricValues
from .result import SituationResult as SituationResult
from .result import metric_tables as metric_tables
