"""Pictures of the site that no build makes anew, the heights of its widgets, and what Lighthouse says of it."""
