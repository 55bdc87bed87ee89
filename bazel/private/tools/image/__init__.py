"""Makes container images from files: deterministic layers, OCI manifests, one archive, and the check of what was made.

Only Python's standard library, so that a change elsewhere in this tree rebuilds no layer.
"""
