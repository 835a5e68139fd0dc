"""Runs the programs under their settings in turns, takes medians, compares results, and writes the page."""
