"""What is built of the layers: Transformers, a recurrent reader with attention, and ways to write with them."""
