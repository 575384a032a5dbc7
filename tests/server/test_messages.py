import json

import pytest
from mcp_types import JSONRPCNotification, JSONRPCRequest

from server.messages import LINE_BYTES_MAX, Lines, Oversized, decode

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"content":%b}}}'


def test_lines_are_cut_wherever_the_chunks_end() -> None:
    lines = Lines()
    assert lines.feed(b'{"a"') == []
    assert lines.feed(b':1}\n{"b":2}\n{"c') == [b'{"a":1}', b'{"b":2}']
    assert lines.feed(b'":3}') == []
    assert lines.close() == [b'{"c":3}']


def test_blank_lines_are_no_messages() -> None:
    assert Lines().feed(b"\n \r\n\t\n") == []


def test_a_line_of_exactly_the_bound_is_kept_and_one_byte_more_is_not() -> None:
    lines = Lines()
    assert lines.feed(b"x" * LINE_BYTES_MAX + b"\n") == [b"x" * LINE_BYTES_MAX]
    [oversized] = lines.feed(b"x" * (LINE_BYTES_MAX + 1) + b"\n")
    assert isinstance(oversized, Oversized)


def test_an_endless_line_holds_no_memory_and_the_next_one_is_read() -> None:
    lines = Lines()
    for _ in range(40):
        assert lines.feed(b"y" * 65_536) == []
        assert len(lines._line) <= LINE_BYTES_MAX
    [oversized, following] = lines.feed(b"end\n{}\n")
    assert isinstance(oversized, Oversized)
    assert oversized.tail.endswith(b"end")
    assert following == b"{}"


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"', b'"}}'),
        (b'{"method":"tools/call","params":{"x":"', b'"},"jsonrpc":"2.0","id":7}'),
        (b'{"id": 7, "method":"tools/call","params":{"x":"', b'"}}'),
    ],
)
def test_an_oversized_request_is_answered_under_its_own_id(head: bytes, tail: bytes) -> None:
    message, reply = decode(Oversized(head=head, tail=tail))
    assert message is None
    assert reply is not None
    assert reply.id == 7
    assert "1,048,576" in reply.error.message


def test_an_id_inside_the_arguments_is_not_taken_for_the_request_s() -> None:
    inside = Oversized(head=b'{"jsonrpc":"2.0","params":{"id":9,"x":"', tail=b'","id":9}}')
    reply = decode(inside)[1]
    assert reply is not None
    assert reply.id is None


@pytest.mark.parametrize("value", ['"a\\ud800b"', '["\\udfff"]', '{"k":"\\ud800"}'])
def test_a_lone_surrogate_in_the_arguments_reaches_the_tool(value: str) -> None:
    message, reply = decode(CALL % value.encode())
    assert reply is None
    assert isinstance(message, JSONRPCRequest)
    assert message.params is not None
    assert message.params["arguments"]["content"] == json.loads(value)


def test_bytes_that_are_not_utf8_reach_the_tool_as_lone_surrogates() -> None:
    message = decode(CALL % b'"a\xffb"')[0]
    assert isinstance(message, JSONRPCRequest)
    assert message.params == {"name": "t", "arguments": {"content": "a\udcffb"}}


@pytest.mark.parametrize("number", [b"9" * 4_301, b"-" + b"9" * 4_301, b"1e400", b"[" + b"9" * 5_000 + b"]"])
def test_a_number_that_no_parser_takes_reaches_the_tool_as_one_beyond_every_bound(number: bytes) -> None:
    """Fails without _whole in server/lenient.py: the line was told to be no JSON, and no argument was named."""
    message, reply = decode(CALL % number)
    assert reply is None
    assert isinstance(message, JSONRPCRequest)
    assert message.params is not None
    assert "inf" in str(message.params["arguments"]["content"])


def test_lone_surrogates_elsewhere_are_scrubbed_so_that_they_can_be_echoed() -> None:
    line = r'{"jsonrpc":"2.0","id":"\ud800","method":"m\ud800","params":{"uri":"\udfff","\ud800":[1]}}'
    message = decode(line.encode())[0]
    assert isinstance(message, JSONRPCRequest)
    assert (message.id, message.method) == ("\ufffd", "m\ufffd")
    assert message.params == {"uri": "\ufffd", "\ufffd": [1]}


@pytest.mark.parametrize("line", [b"garbage", b"\x00\xff\xfe", b'{"jsonrpc":', b"[" * 100_000, b"\xef\xbb\xbf"])
def test_what_is_not_json_is_a_parse_error(line: bytes) -> None:
    message, reply = decode(line)
    assert message is None
    assert reply is not None
    assert (reply.id, reply.error.code) == (None, -32700)


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b"5", None),
        (b"[]", None),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}', 3),
        (b'{"jsonrpc":"1.0","id":"x","method":"ping"}', "x"),
        (b'{"jsonrpc":"2.0","id":4}', 4),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(line: bytes, request_id: object) -> None:
    message, reply = decode(line)
    assert message is None
    assert reply is not None
    assert (reply.id, reply.error.code) == (request_id, -32600)


@pytest.mark.parametrize("line", [b'{"jsonrpc":"2.0","id":true,"result":5}', b'{"method":7}'])
def test_broken_answers_and_notifications_are_not_answered(line: bytes) -> None:
    assert decode(line) == (None, None)


@pytest.mark.parametrize("request_id", [b"null", b"true", b"1.5", b"1e3", b'{"a":1}', b"[7]"])
def test_a_request_under_an_id_that_no_answer_can_carry_is_answered_without_it(request_id: bytes) -> None:
    """Fails without has_unusable_id: the models take it for a notification, and nothing is answered."""
    message, reply = decode(b'{"jsonrpc":"2.0","id":%b,"method":"tools/list"}' % request_id)
    assert message is None
    assert reply is not None
    assert (reply.id, reply.error.code) == (None, -32600)


@pytest.mark.parametrize("tail", [b'"method":"ping"}', b'"x":"' + b"a" * 5_000 + b'"}'])
def test_an_id_that_is_no_json_ends_no_server(tail: bytes) -> None:
    line = b'{"jsonrpc":"2.0","id":007,' + tail
    message, reply = decode(line if len(line) < 1_000 else Oversized(line[:4_096], line[-4_096:]))
    assert message is None
    assert reply is not None
    assert reply.id is None


def test_a_notification_is_served() -> None:
    message, reply = decode(b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{"id":null}}')
    assert reply is None
    assert isinstance(message, JSONRPCNotification)
