"""Checkpoints: how model files enter the build graph, from a GGUF file, a folder, a hub, or a seeded generator."""
