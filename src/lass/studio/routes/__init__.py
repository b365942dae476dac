"""Routes: reads, writes, and transfer of whole files."""
