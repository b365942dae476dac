"""What can be asked for: reading, changing, and moving whole files in and out."""
