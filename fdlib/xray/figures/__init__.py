"""The numbers behind the pictures: what `draw` takes and never computes."""
