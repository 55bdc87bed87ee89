"""A family that exists only in a test; `toy` is the folder that the test adds."""
