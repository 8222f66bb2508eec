"""What `fdlib.simulate` is made of: work, occupancy, the model's numbers, and what is left over."""
