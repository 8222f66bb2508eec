"""What a check is made of: comparisons, watched memory, and the notes of both. Checks and grading stand on it."""
