"""Shell, by its syntax tree and an evaluation of its words."""
