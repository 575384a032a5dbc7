"""An OAuth issuer: publishes its metadata and keys on a port of its own, and signs what a test asks for."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

WAIT_S = 20.0
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

AUDIENCE = "https://memory.example.com/mcp"


class Issuer:
    def __init__(self) -> None:
        self.keys: dict[str, PrivateKey] = {}
        self.named: str | None = None
        self.fetches = 0
        self.beside: list[Any] = []
        self.published: Any = ()
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.url = ""
        self.rotate("first")

    def rotate(self, key_id: str, key: PrivateKey | None = None, *, named: str | None = None) -> None:
        """One key from now on, published with the algorithm `named`."""
        self.keys, self.named = {key_id: key or ec.generate_private_key(ec.SECP256R1())}, named

    def token(self, *, key: Any = None, algorithm: str = "ES256", headers: Any = None, **claims: Any) -> str:
        key_id, own = next(iter(self.keys.items()))
        usual = {"iss": self.url, "aud": AUDIENCE, "sub": "someone", "exp": time.time() + 600}
        given = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(given, key or own, algorithm=algorithm, headers={"kid": key_id, **(headers or {})})

    def answer(self, path: str) -> dict[str, Any] | None:
        match path:
            case "/.well-known/openid-configuration":
                return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
            case "/keys":
                self.fetches += 1
                self.may_answer.wait(WAIT_S)
                keys = [*self.beside, *(self.jwk(key_id) for key_id in self.keys)]
                return {"keys": keys if self.published == () else self.published}
            case _:
                return None

    def jwk(self, key_id: str) -> dict[str, Any]:
        match self.keys[key_id].public_key():
            case rsa.RSAPublicKey() as public:
                written = RSAAlgorithm.to_jwk(public)
            case ec.EllipticCurvePublicKey() as public:
                written = ECAlgorithm.to_jwk(public)
            case public:
                written = OKPAlgorithm.to_jwk(public)
        named = {"alg": self.named} if self.named else {}
        return {**json.loads(written), "kid": key_id, "use": "sig", **named}


@contextmanager
def issuing() -> Iterator[Issuer]:
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = issuer.answer(self.path)
            body = json.dumps(found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
