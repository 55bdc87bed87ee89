"""E2E: manifests, golden answers of the oracle, comparators that can fail, the conformance suite and its evidence."""
