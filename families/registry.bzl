"""The families. Python finds them by their MODEL.toml; this list is the one entry that the build graph needs."""

FAMILIES = [
    "llama",
    "mistral",
    "qwen",
]
