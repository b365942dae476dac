from .backend import Sparse as Sparse
from .certificate import certify as certify
from .mapping import mapped as mapped
from .storage import SparseAssignments as SparseAssignments
