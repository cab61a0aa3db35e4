"""What was proven, and of what: so that `make test` proves again only what something was changed under."""
