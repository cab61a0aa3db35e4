"""What is made of the book beside its pages: notebooks for Colab and students, and the site's downloads."""
