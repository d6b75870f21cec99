"""
Runs nova-serialproxy in the process of Nova's other services.

The proxy asks the compute service whether a token belongs to the serial port. In the lab, this call does not
leave the process.
"""
import eventlet
from eventlet import hubs
from nova.console import websocketproxy


class SerialProxy(websocketproxy.NovaWebSocketProxy):
    """Nova's proxy. It serves each client in a green thread, because a forked process has no compute service."""

    def start_server(self):
        listener = eventlet.listen((self.listen_host, self.listen_port), backlog=64, reuse_port=False)
        while True:
            client, address = listener.accept()
            eventlet.spawn(self._serve, client, address)

    def _serve(self, client, address):
        try:
            self.top_new_client(client, address)
        finally:
            client.close()


def start_serial_proxy(options):
    # For each client, Nova's code starts a new event loop, because it expects a forked process. In this process, a new
    # event loop would stop all other green threads. Only a thread without a loop gets a new loop.
    start_loop = hubs.use_hub

    def start_first_loop(mod=None):
        if not hasattr(hubs._threadlocal, 'Hub'):
            start_loop(mod)

    hubs.use_hub = start_first_loop
    proxy = SerialProxy(
        listen_host=options.serialproxy_host,
        listen_port=options.serialproxy_port,
        web=None,
        RequestHandlerClass=websocketproxy.NovaProxyRequestHandler,
    )
    eventlet.spawn(proxy.start_server)
