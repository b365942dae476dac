from .evaluating import evaluate as evaluate
from .figure import picture as picture
from .on_disk import evaluate_collection as evaluate_collection
from .result import FILE as FILE
from .result import Evaluation as Evaluation
from .result import Figure as Figure
from .result import Outcome as Outcome
from .tables import tables as tables
