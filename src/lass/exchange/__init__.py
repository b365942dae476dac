"""People's files in, tables out: what the command line and the Studio share."""
