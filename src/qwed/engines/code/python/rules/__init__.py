"""What is judged in a Python program, one file per kind of harm."""
