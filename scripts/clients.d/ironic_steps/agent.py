"""A substitute for ironic-python-agent in cleaning: it sends heartbeats, offers no clean steps, and answers each command at once.

The real agent runs in the boot image for cleaning. Our image is GRUB, so this process sends the heartbeats instead.
"""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from steps import Unexpected, wait_for


class Agent:
    """@param node the `Node` of the agent."""

    def __init__(self, node):
        self.node, self._token = node, None

        class Handler(BaseHTTPRequestHandler):
            def answer(self, name, params):
                result = {'clean_steps': {'GenericHM': []}, 'deploy_steps': {'GenericHM': []}, 'hardware_manager_version': {'GenericHM': '1'}}
                body = {'id': '1', 'command_name': name, 'command_params': params, 'command_status': 'SUCCEEDED', 'command_error': None,
                        'command_result': result}
                text = json.dumps(body if name else {'commands': []}).encode()
                self.send_response(200)
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                self.answer(None, None)

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
                self.answer(asked['name'], asked.get('params'))

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._url = f'http://127.0.0.1:{self._server.server_port}'
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _heartbeat(self, uuid):
        # Ironic sends the token once per boot, and asterisks afterwards.
        token = self.node.ironic.get(f'/v1/lookup?node_uuid={uuid}')['config']['agent_token']
        if token.strip('*'):
            self._token = token
        self.node.ironic.ask('POST', f'/v1/heartbeat/{uuid}', {
            'callback_url': self._url, 'agent_version': '9.1.0', 'agent_token': self._token})

    def _state(self):
        node = self.node.read()
        if node['provision_state'] == 'clean failed':
            raise Unexpected(f'cleaning failed: {node["last_error"]}')
        return node['provision_state'], node['uuid']

    def wait_for_state(self, wanted, seconds):
        wait_for(f'the state of node {self.node.name}', lambda: self._state()[0], wanted, seconds)

    def heartbeat_until(self, wanted, seconds=600):
        """Sends heartbeats while Ironic waits for the agent, until the node has this state."""
        def state():
            found, uuid = self._state()
            if found == 'clean wait':
                try:
                    self._heartbeat(uuid)
                except Unexpected as refusal:
                    # The node may have left the state before the heartbeat arrived.
                    if 'Ironic answers 4' not in str(refusal):
                        raise
            return found

        wait_for(f'the state of node {self.node.name}', state, wanted, seconds)

    def close(self):
        self._server.shutdown()
