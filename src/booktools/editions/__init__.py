"""What is made of chapters and assignments: clean outputs, the site's extras, notebooks for Colab and students."""
