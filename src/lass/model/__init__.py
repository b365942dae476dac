"""The model: problem, quadratic program, certificate, reduction, uniqueness."""
