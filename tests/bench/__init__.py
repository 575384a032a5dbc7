"""Benchmarks: ratios within one run, printed beside their aims; they fail on nothing."""
