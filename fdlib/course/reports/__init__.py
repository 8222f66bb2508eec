"""Verdicts and scores as people read them."""
