"""What LASS costs and how good it is beside others; one module a benchmark, ``python -m benchmarks.NAME``."""
