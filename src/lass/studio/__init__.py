"""The Studio: a collection in the browser."""
