"""Weights of small trained networks, for widgets: `python -m booktools.make.networks.finders`."""
