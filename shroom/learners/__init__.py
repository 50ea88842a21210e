"""Small models fitted to arrays."""
