"""New items: out-of-sample map, path over lam, explanations, influence."""
