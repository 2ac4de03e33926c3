"""People answer what waits for them."""
