"""A real HTTP server on the loopback, in the place of an OpenAI-compatible API or of mirrors."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def chat(text="Yes", top=None, *, usage=None):
    """Return an answer of a chat, with log-probabilities where ``top`` has some."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    if top:
        listed = [{"token": token, "logprob": logprob} for token, logprob in top]
        choice["logprobs"] = {"content": [{**listed[0], "top_logprobs": listed}]}
    return {"choices": [choice], **({"usage": usage} if usage else {})}


class Quiet(ThreadingHTTPServer):
    """A server that takes many connections at once, and says nothing of those that break."""

    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass


class Loopback:
    """A server of a handler's class on the loopback, which runs until it is closed."""

    def __init__(self, handler, path=""):
        handler.log_message = lambda *_: None
        self.http = Quiet(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}{path}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


class Server(Loopback):
    """An HTTP server on the loopback; ``answer`` makes of a request what is sent back.

    It is given the JSON of a POST or the path of a GET, and how many requests came before. It gives
    JSON or bytes, a tuple of status, headers and such content, or a function of the handler; an
    exception closes the connection.
    """

    def __init__(self, answer, path="/v1"):
        self.answer = answer
        self.bodies, self.headers, self.paths = [], [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.reply(self.path)

            def do_POST(self):
                self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def reply(self, asked):
                with outer.lock:
                    outer.paths.append(self.path)
                    outer.headers.append(self.headers)
                    outer.bodies.append(asked)
                    number = len(outer.bodies) - 1
                try:
                    given = outer.answer(asked, number)
                except ConnectionAbortedError:
                    self.close_connection = True
                    return
                if callable(given):
                    given(self)
                    return
                status, headers, body = given if isinstance(given, tuple) else (200, {}, given)
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        self.lock = threading.Lock()
        super().__init__(Handler, path)
