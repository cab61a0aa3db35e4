"""What attends: masks, softmax, and the layers of every kind, each beside the function that it computes."""
