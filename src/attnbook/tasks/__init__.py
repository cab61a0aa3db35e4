"""Small things to learn, some beside the networks that have learned them."""
