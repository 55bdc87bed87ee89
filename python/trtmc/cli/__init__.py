"""`trtmc-build`: the command line of the builder, for people and for the build graph's actions alike."""
