"""What the benchmarks and the paper's experiments share: data, draws, timing, result files, pictures."""
