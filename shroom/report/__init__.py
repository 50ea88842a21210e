"""Pages, figures and notebook views of results."""
