"""OpenTelemetry: the SDK's own span of every message goes to a collector where the standard variables name one."""

from __future__ import annotations

from opentelemetry import trace

FLUSH_MS = 1_000


def begin(service: str) -> None:
    """Exports spans from now on. Everything else of it, as the sampler, is read by the library's own variables."""
    # Only who exports pays for the import.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    resource = Resource.create({"service.name": service}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def flush() -> None:
    """Sends what is still held; a process that ends by itself loses it otherwise."""
    flushed = getattr(trace.get_tracer_provider(), "force_flush", None)
    if flushed is not None:
        flushed(FLUSH_MS)


def join(request_id: str) -> str | None:
    """Writes the request id on the span under way; its trace id in hex where one is recorded."""
    span = trace.get_current_span()
    if not span.is_recording():
        return None
    span.set_attribute("memhub.request_id", request_id)
    return trace.format_trace_id(span.get_span_context().trace_id)
