"""The benchmarks: each module has what its sides measure and the figures it answers for."""
