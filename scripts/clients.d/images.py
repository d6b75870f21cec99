"""An HTTP server for boot images: normal, slow, and those of Ironic."""
import socket
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


def address_towards(host, port):
    """Returns the address of this host from which it reaches the BMC, so that the BMC can reach it too."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))  # This sends no packet, it only selects a route.
        return probe.getsockname()[0]


class ImageServer:
    """Serves the files of `folder`; a large file below `/slow-N/` takes about N seconds."""

    def __init__(self, folder, address):
        self.folder = folder
        self.sent_whole = {}  # requested path: time at which the whole file had been sent (monotonic seconds)
        server = self

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *args):
                super().__init__(*args, directory=str(folder))

            def translate_path(self, path):
                slow, rest = server._pace(path)
                return super().translate_path(rest if slow else path)

            def copyfile(self, source, outputfile):
                seconds, _ = server._pace(self.path)
                parts = 50
                content = source.read()
                size = len(content) // parts + 1
                for start in range(0, len(content), size):
                    outputfile.write(content[start:start + size])
                    outputfile.flush()
                    if seconds:
                        time.sleep(seconds / parts)
                server.sent_whole[urlsplit(self.path).path] = time.monotonic()

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                """Ignores clients that disconnect."""

        self._server = Server((address, 0), Handler)
        self.url = f'http://{address}:{self._server.server_port}'
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @staticmethod
    def _pace(path):
        """Returns the seconds and the file of a path: (20, /x.iso) for /slow-20/x.iso, (0, /x.iso) for /x.iso."""
        first, _, rest = path.lstrip('/').partition('/')
        if first.startswith('slow-'):
            return int(first[len('slow-'):]), '/' + rest
        return 0, path

    def close(self):
        self._server.shutdown()
