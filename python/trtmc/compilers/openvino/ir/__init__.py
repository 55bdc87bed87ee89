"""OpenVINO's model text, written by us: layers, edges, and the weights blob behind them.

Needs no OpenVINO to write, so a build imports nothing of it and the same network gives the same bytes in any process.
OpenVINO infers all shapes when it reads the text, so shapes appear only where an operation has them as attributes.
"""
