"""A webhook receiver on Python's standard library alone, to run check-receiver against another language.

Usage: python3 python_receiver.py <whsec_ secret> <seconds to wait for a body> [serializes-the-body-again]; prints its URLs as
JSON.
"""

import base64
import hashlib
import hmac
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

FLAW = sys.argv[3] if len(sys.argv) > 3 else ""
KEY = base64.b64decode(sys.argv[1].removeprefix("whsec_"))
TOLERANCE_SECONDS = 300
BODY_BYTES_MAX = 1024 * 1024
lock = threading.Lock()
effects: dict[str, int] = {}


class Rejected(Exception):
    def __init__(self, status: int):
        super().__init__(status)
        self.status = status


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = float(sys.argv[2])

    def do_POST(self):
        try:
            self.receive()
        except Rejected as rejected:
            self.close_connection = True
            self.respond(rejected.status, b"rejected")
        else:
            self.respond(200, b'{"received":true}')

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path != "/effects":
            self.close_connection = True
            return self.respond(405, b"")
        webhook_id = parse_qs(url.query).get("id", [""])[0]
        self.respond(200, json.dumps({"count": effects.get(webhook_id, 0)}).encode())

    def receive(self):
        webhook_id = self.single("webhook-id", r"[A-Za-z0-9._:~-]{1,255}")
        timestamp = self.single("webhook-timestamp", r"[1-9][0-9]{0,11}")
        signatures = self.single("webhook-signature", r"[\x21-\x7e ]{1,4096}").split(" ")
        if len(signatures) > 16:
            raise Rejected(400)
        if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
            raise Rejected(401)
        body = self.body()
        if FLAW == "serializes-the-body-again":
            body = json.dumps(json.loads(body)).encode()
        signed = f"{webhook_id}.{timestamp}.".encode() + body
        right = "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
        if not any(hmac.compare_digest(right, each) for each in signatures):
            raise Rejected(401)
        with lock:
            effects.setdefault(webhook_id, 1)

    def single(self, name: str, pattern: str) -> str:
        values = self.headers.get_all(name, [])
        if len(values) != 1 or not re.fullmatch(pattern, values[0]):
            raise Rejected(400)
        return values[0]

    def body(self) -> bytes:
        if "content-encoding" in self.headers:
            raise Rejected(415)
        if "transfer-encoding" in self.headers:
            if "content-length" in self.headers:
                raise Rejected(400)
            return self.chunked()
        length = int(self.headers.get("content-length", "0"))
        return self.exactly(length, length)

    def exactly(self, length: int, total: int) -> bytes:
        if total > BODY_BYTES_MAX:
            raise Rejected(413)
        try:
            read = self.rfile.read(length)
        except TimeoutError:
            raise Rejected(408) from None
        if len(read) != length:
            raise Rejected(400)
        return read

    def chunked(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(32).split(b";")[0], 16):
            body += self.exactly(size, len(body) + size)
            self.rfile.readline(8)
        self.rfile.readline(8)
        return body

    def respond(self, status: int, body: bytes):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Receiver)
origin = f"http://127.0.0.1:{server.server_address[1]}"
print(json.dumps({"url": f"{origin}/webhooks", "observeUrl": f"{origin}/effects"}), flush=True)
server.serve_forever()
