"""JavaScript, by its syntax tree."""
