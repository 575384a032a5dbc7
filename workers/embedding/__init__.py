"""Vectors of texts: the packaged model, the other providers, chunking, and the endpoint that serves them."""

import os

# onnxruntime reports its use to its maker and keeps an id for that in the user's home, unless told otherwise before it
# is imported: memhub reports nothing to anyone.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
