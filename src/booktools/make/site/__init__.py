"""Pictures of the site that no build makes anew, heights of its widgets, and what Lighthouse and Firefox make of it."""
