from .device import Device as Device
from .nearest import knn_graph as knn_graph
from .solving import solve as solve
from .solving import solve_many as solve_many
