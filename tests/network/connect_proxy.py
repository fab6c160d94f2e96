"""A small HTTP proxy that knows CONNECT alone, as most networks have one at their edge."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
import unittest


class ConnectProxy:
    """Listens on loopback. `names` says where a host that is asked for really is; others it does not
    know. With `credentials` ("USER:PASSWORD") it wants them."""

    def __init__(self, test: unittest.TestCase, names: dict[str, str], credentials: str = "") -> None:
        self._names = names
        self._credentials = credentials
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self.asked: list[str] = []  # "coordinator.test:7077", in order.
        self.refused = 0
        self.bytes = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        test.addCleanup(self.close)

    @property
    def url(self) -> str:
        who = self._credentials + "@" if self._credentials else ""
        return f"http://{who}{self.address}"

    def close(self) -> None:
        self._listener.close()
        with self._lock:
            for one in self._open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(1)
                if not piece:
                    return
                head += piece
            lines = head.decode().split("\r\n")
            target = lines[0].split(" ")[1]
            wanted = base64.b64encode(self._credentials.encode()).decode()
            let_in = not self._credentials or f"Proxy-Authorization: Basic {wanted}".lower() in [
                line.lower() for line in lines]
            host, _, port = target.rpartition(":")
            with self._lock:
                self.asked.append(target)
                if not let_in or host not in self._names:
                    self.refused += 1
            if not let_in or host not in self._names:
                status = "403 Forbidden" if let_in else "407 Proxy Authentication Required"
                client.sendall(f"HTTP/1.1 {status}\r\n\r\n".encode())
                return
            try:
                server = socket.create_connection((self._names[host], int(port)))
            except OSError:
                client.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
                return
            with server:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                with self._lock:
                    self._open += [client, server]
                back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
                back.start()
                self._pump(client, server)
                back.join()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                with self._lock:
                    self.bytes += len(piece)
                sink.sendall(piece)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
