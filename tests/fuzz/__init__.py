"""Fuzzers, named after the reader they attack."""
