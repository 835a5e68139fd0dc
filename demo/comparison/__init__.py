"""Runs unmodified programs under several settings in turns, compares their results and their costs, and draws the picture."""
