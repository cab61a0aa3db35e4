"""What widgets share: their base class, the host of a page, controls, a grid, random numbers."""
