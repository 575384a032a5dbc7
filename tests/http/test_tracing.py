"""Spans reach a collector where OpenTelemetry's own variables name one, under the request id of log and audit."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.http.callers import client
from tests.http.processes import WAIT_S, serving

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@contextmanager
def collecting() -> Iterator[tuple[str, queue.Queue[Any]]]:
    spans: queue.Queue[Any] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        spans.put(span)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", spans
        finally:
            server.shutdown()
            thread.join()


async def test_a_call_is_one_request_in_log_audit_and_trace(tmp_path: Path, database_url: str) -> None:
    with collecting() as (endpoint, spans):
        settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        with serving(tmp_path, MEMHUB_DATABASE_URL=database_url, **settings) as process:
            async with client(process.url, "2026-07-28", tenant="t") as raw:
                message, own = raw.message(
                    "tools/call", {"name": "memory_remember", "arguments": {"content": "Traced."}}
                )
                message["params"]["_meta"]["traceparent"] = f"00-{TRACE}-{PARENT}-01"
                assert (await raw.post(message, headers=own)).status_code == 200
            logged = process.event("tool_call")
            process.process.terminate()
            process.process.wait(WAIT_S)
        while (span := spans.get(timeout=WAIT_S)).name != "tools/call memory_remember":
            pass
    attributes = {attribute.key: attribute.value.string_value for attribute in span.attributes}
    assert attributes["memhub.request_id"] == logged["request_id"]
    assert (span.trace_id.hex(), span.parent_span_id.hex(), logged["trace"]) == (TRACE, PARENT, TRACE)
    with psycopg.connect(database_url) as database:
        audited = database.execute("SELECT request_id FROM memhub.audit_events WHERE event = 'remembered'").fetchone()
    assert audited == (logged["request_id"],)
