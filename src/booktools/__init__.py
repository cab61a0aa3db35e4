"""Tools that make the book. Readers install `attnbook` alone, which never imports them."""
