"""What makes the book and grades its assignments. Readers install `attnbook` alone, which knows nothing of this."""
