"""A receiver of OTLP over HTTP, in the process of a test."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

WAIT_S = 120.0
HELD_S_MAX = 300.0


@dataclass
class Collector:
    """`bodies` is all that came, byte by byte; `spans` the same by the service that sent it."""

    settings: dict[str, str]
    answering: threading.Event
    bodies: list[bytes] = field(default_factory=list)
    spans: list[tuple[str, Span]] = field(default_factory=list)
    _came: threading.Condition = field(default_factory=threading.Condition)

    def take(self, body: bytes) -> None:
        with self._came:
            self.bodies.append(body)
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                service = next(a.value.string_value for a in resource.resource.attributes if a.key == "service.name")
                self.spans += [(service, span) for scope in resource.scope_spans for span in scope.spans]
            self._came.notify_all()

    def find(self, service: str, wanted: Callable[[Span], bool]) -> Span:
        """The first span of that service that is wanted, waiting for it."""
        ends_s = time.monotonic() + WAIT_S
        with self._came:
            while True:
                for sender, span in self.spans:
                    if sender == service and wanted(span):
                        return span
                left_s = ends_s - time.monotonic()
                assert left_s > 0, [(sender, span.name) for sender, span in self.spans]
                self._came.wait(left_s)

    def named(self, service: str, name: str) -> Span:
        return self.find(service, lambda span: span.name == name)


def told(span: Span) -> dict[str, str]:
    return {each.key: each.value.string_value or str(each.value.int_value) for each in span.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """`settings` are OpenTelemetry's own; nothing is answered while `answering` is not set."""
    answering = threading.Event()
    answering.set()
    collector = Collector(settings={}, answering=answering)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["Content-Length"])))
            answering.wait(HELD_S_MAX)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        collector.settings = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }
        try:
            yield collector
        finally:
            answering.set()
            server.shutdown()
            thread.join()
