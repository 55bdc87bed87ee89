"""Fused operations: one matcher per pattern, each rewriting the graph in place and returning how often it matched.

`pipeline.fuse_decoder` runs them in order and then checks that nothing is left over: a decoder engine with an unfused
layer is an error, because a lost fusion costs speed without changing a single result.
"""
