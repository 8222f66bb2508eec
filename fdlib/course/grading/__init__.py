"""Grade one exercise: run it in a process of its own, compare, judge, and say what was wrong."""
