"""Tests of the embedded PostgreSQL, on real processes and real folders."""
