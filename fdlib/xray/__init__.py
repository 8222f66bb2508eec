"""What a kernel did, and when: the pictures of the course."""
