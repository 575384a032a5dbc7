"""OpenTelemetry: spans of messages, statements and jobs go to a collector where the standard variables name one.

Without one nothing is recorded: the library's API, which the MCP SDK imports anyway, answers with spans of no effect.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, StatusCode

FLUSH_S = 1.0
ATTRIBUTE_CHARS_MAX = 256
"""A caller chooses the id of its message; OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT goes before this."""

Attributes = Mapping[str, str | int]


def begin(service: str) -> None:
    """Exports spans from now on. Everything else of it, as the sampler, is read by the library's own variables."""
    # Only who exports pays for the import.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import SpanLimits, TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    resource = Resource.create({"service.name": service}).merge(OTELResourceDetector().detect())
    limits = SpanLimits(max_attribute_length=ATTRIBUTE_CHARS_MAX)
    provider = TracerProvider(resource=resource, span_limits=limits, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def flush() -> None:
    """Sends what is still held, within FLUSH_S; a process that ends by itself loses it otherwise."""
    flushed = getattr(trace.get_tracer_provider(), "force_flush", None)
    if flushed is not None:
        # The library takes no timeout here yet, and a collector that hangs must not hold the process.
        sending = threading.Thread(target=flushed, daemon=True)
        sending.start()
        sending.join(FLUSH_S)


def join(request_id: str) -> str | None:
    """Writes the request id on the span under way; the W3C traceparent of what the call owes, where there is a trace.

    Without the caller's tracestate: that is text of its own, and this is stored.
    """
    span = trace.get_current_span()
    span.set_attribute("memhub.request_id", request_id)
    under_way = span.get_span_context()
    if not under_way.is_valid:
        return None
    trace_id, span_id = trace.format_trace_id(under_way.trace_id), trace.format_span_id(under_way.span_id)
    return f"00-{trace_id}-{span_id}-{under_way.trace_flags:02x}"


def trace_id(traceparent: str) -> str:
    return traceparent.split("-")[1]


def name_unknown(method: str, attribute: str) -> None:
    """Takes the name that a caller made up, which the SDK gave it, out of the span of the message under way."""
    span = trace.get_current_span()
    if span.is_recording():
        span.update_name(f"{method} unknown")
        span.set_attribute(attribute, "unknown")


@contextmanager
def span(name: str, kind: SpanKind, attributes: Attributes, *, traceparent: str | None = None) -> Iterator[None]:
    """A span under the one under way, or under that of the traceparent; of an error it tells the type alone.

    An exception's text may quote a memory.
    """
    tracer = trace.get_tracer("memhub")
    with tracer.start_as_current_span(
        name,
        context=_context(traceparent),
        kind=kind,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as begun:
        try:
            yield
        except BaseException as error:
            begun.set_attribute("error.type", type(error).__qualname__)
            begun.set_status(StatusCode.ERROR)
            raise


def _context(traceparent: str | None) -> Context | None:
    if traceparent is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})
