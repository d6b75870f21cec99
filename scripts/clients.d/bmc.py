"""An HTTP client, by which the steps check the effects of the clients under test."""
import base64
import json
import ssl
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from steps import Unexpected, wait_for


class Bmc:
    """@param url `https://host:port`; user and password are None without authentication."""

    def __init__(self, url, user=None, password=None):
        self.url = url.rstrip('/')
        self.host = urlsplit(url).netloc
        self.is_https = url.startswith('https:')
        self.user, self.password = user, password
        unverified = ssl.create_default_context()
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
        # Uses no proxy: the BMC is on this network.
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unverified)).open

    def ask(self, method, path, body=None):
        """@returns (status, headers, the parsed body; None if it is empty or not JSON)."""
        headers = {'Content-Type': 'application/json'} if body is not None else {}
        if self.user is not None:
            headers['Authorization'] = 'Basic ' + base64.b64encode(f'{self.user}:{self.password}'.encode()).decode()
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        try:
            with self._open(request, timeout=120) as answer:
                status, got, text = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            status, got, text = error.code, error.headers, error.read()
        try:
            return status, got, json.loads(text) if text else None
        except ValueError:
            return status, got, None

    def get(self, path):
        status, _, body = self.ask('GET', path)
        if status != 200 or body is None:
            raise Unexpected(f'GET {path} answers {status}')
        return body

    def write(self, method, path, body, busy=()):
        """Sends a write, and repeats it while the status is one of `busy`.

        Raises Unexpected for any other status from 300, and after 120 s.
        """
        what = f'the answer to {method} {path}'
        status, answer = wait_for(what, lambda: self.ask(method, path, body)[::2], lambda found: found[0] not in busy)
        if status >= 300:
            raise Unexpected(f'{method} {path} answers {status}: {json.dumps(answer)[:400]}')
        return answer

    def members(self, path):
        return [member['@odata.id'] for member in self.get(path)['Members']]


# While another operation runs, bmc-daemon answers 503, and sushy-tools 409 or 500.
BUSY = (409, 500, 503)


class Machine:
    """A system of the BMC."""

    def __init__(self, bmc, path):
        self.bmc = bmc
        body = bmc.get(path)
        # `path` may contain the name of the system. `@odata.id` contains its id.
        self.path = body['@odata.id']
        self.id, self.name = body['Id'], body['Name']
        self.manager = body['Links']['ManagedBy'][0]['@odata.id']
        # sushy-tools has the drives only below the system.
        self.drives = (bmc.get(self.manager).get('VirtualMedia') or body.get('VirtualMedia', {})).get('@odata.id')
        self.is_uefi = body.get('Boot', {}).get('BootSourceOverrideMode') == 'UEFI'

    def body(self):
        return self.bmc.get(self.path)

    @property
    def power(self):
        return self.body()['PowerState']

    @property
    def boot(self):
        """Returns (enabled, target) of the boot override."""
        boot = self.body().get('Boot', {})
        return boot.get('BootSourceOverrideEnabled'), boot.get('BootSourceOverrideTarget')

    def drive(self, media_type='CD'):
        """Returns the first virtual-media drive for this media type."""
        for path in self.bmc.members(self.drives):
            body = self.bmc.get(path)
            if media_type in body['MediaTypes']:
                return body
        raise Unexpected(f'{self.drives} has no virtual {media_type}')

    def reset(self, kind):
        self.bmc.write('POST', f'{self.path}/Actions/ComputerSystem.Reset', {'ResetType': kind})

    def wait_for_power(self, state, seconds=120):
        return wait_for(f"{self.name}'s power state", lambda: self.power, state, seconds)

    def reset_machine(self):
        """Brings the machine into the state in which each client starts: off, no media, no override.

        With sushy-tools, the override is the disk.
        """
        if self.power != 'Off':
            self.bmc.write('POST', f'{self.path}/Actions/ComputerSystem.Reset', {'ResetType': 'ForceOff'}, BUSY)
            self.wait_for_power('Off')
        if self.drives is not None:
            for path in self.bmc.members(self.drives):
                if self.bmc.get(path)['Inserted']:
                    self.bmc.write('POST', f'{path}/Actions/VirtualMedia.EjectMedia', {}, BUSY)
        if self.boot[0] not in (None, 'Disabled'):
            without = {'BootSourceOverrideEnabled': 'Disabled'}
            # sushy-tools rejects Disabled. With sushy-tools, the disk becomes the override.
            disk = {'BootSourceOverrideEnabled': 'Continuous', 'BootSourceOverrideTarget': 'Hdd'}
            if self.bmc.ask('PATCH', self.path, {'Boot': without})[0] >= 300:
                self.bmc.write('PATCH', self.path, {'Boot': disk})
