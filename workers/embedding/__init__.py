"""Vectors of texts: the packaged model, the other providers, chunking, and the endpoint that serves them."""
