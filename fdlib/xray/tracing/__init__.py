"""What `fdlib.trace` is made of: counting, the child process, the L2 estimate, the table."""
