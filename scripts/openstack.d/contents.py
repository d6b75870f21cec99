"""Fills a started lab with contents: the service catalog, an image, a flavor, a network and servers."""
import time

from cloud import NEWEST_COMPUTE, Refused, ask, token
from copies import add_copies
from services import SERVICES

REGION = 'RegionOne'
PATHS = {'identity': '/v3', 'compute': '/v2.1', 'volumev3': '/v3'}


def _create_catalog(lab, password):
    identity = lab.url('keystone')
    lab.wait('Keystone to answer', lambda: _answers(identity), 'keystone')
    headers = {'X-Auth-Token': token(identity, password)}
    ask('POST', f'{identity}/v3/regions', {'region': {'id': REGION}}, headers)
    for name, kind in SERVICES.items():
        service = {'type': kind, 'name': name}
        created = ask('POST', f'{identity}/v3/services', {'service': service}, headers)[1]['service']
        for interface in ('public', 'internal', 'admin'):
            endpoint = {
                'interface': interface,
                'region_id': REGION,
                'service_id': created['id'],
                'url': lab.url(name) + PATHS.get(kind, ''),
            }
            ask('POST', f'{identity}/v3/endpoints', {'endpoint': endpoint}, headers)
    # Nova waits for this file.
    (lab.dir / 'run' / 'catalog.ready').touch()


def create(lab, password):
    """Writes clouds.yaml, creates all contents, waits until the servers are ACTIVE, and then adds the copies."""
    _write_clouds_yaml(lab, password)
    _create_catalog(lab, password)
    for service in SERVICES:
        lab.wait(f'{service} to answer', lambda service=service: _answers(lab.url(service)), service)
    headers = {'X-Auth-Token': token(lab.url('keystone'), password)}
    image = _create_image(lab.url('glance'), headers)
    network = _create_network(lab.url('neutron'), headers)
    lab.wait('a compute host', (lab.dir / 'run' / 'nova.ready').exists, 'nova')
    lab.say('services started')
    nova = Nova(lab, headers)
    nova.create_flavor()
    nova.create_servers(image, network, lab.options.servers)
    if lab.options.copies > 0:
        add_copies(lab.dir / 'db', 'lab-2', lab.options.copies)
        lab.say(f'{lab.options.copies} copies of lab-2 added')


def _write_clouds_yaml(lab, password):
    path = lab.dir / 'clouds.yaml'
    path.touch(mode=0o600)
    path.write_text(f"""clouds:
  lab:
    auth:
      auth_url: {lab.url('keystone')}/v3
      username: admin
      password: {password}
      project_name: admin
      user_domain_id: default
      project_domain_id: default
    region_name: {REGION}
    interface: public
    identity_api_version: 3
""")


def _answers(url):
    try:
        ask('GET', url + '/')
    except Refused:
        return True
    except OSError:
        return False
    return True


def _create_image(glance, headers):
    """Uploads a disk whose boot sector prints a line on the screen and the serial port, and then halts the guest."""
    code = bytes.fromhex('fa31c08ed8be207cac84c0741050b40ebb0700cd1058baf803eeebec90f4ebfd')
    sector = (code + b'rackless guest\r\n\0').ljust(510, b'\0') + b'\x55\xaa'
    image = {'name': 'tiny', 'disk_format': 'raw', 'container_format': 'bare', 'visibility': 'public'}
    created = ask('POST', f'{glance}/v2/images', image, headers)[1]
    disk = sector.ljust(1 << 20, b'\0')
    binary = {**headers, 'Content-Type': 'application/octet-stream'}
    ask('PUT', f'{glance}/v2/images/{created["id"]}/file', disk, binary)
    return created['id']


def _create_network(neutron, headers):
    network = {'name': 'lab', 'port_security_enabled': False, 'shared': True}
    created = ask('POST', f'{neutron}/v2.0/networks', {'network': network}, headers)[1]['network']
    subnet = {'network_id': created['id'], 'ip_version': 4, 'cidr': '198.51.100.0/24', 'enable_dhcp': False}
    ask('POST', f'{neutron}/v2.0/subnets', {'subnet': subnet}, headers)
    return created['id']


class Nova:
    def __init__(self, lab, headers):
        self.lab = lab
        self.url = lab.url('nova') + '/v2.1'
        self.headers = {**headers, **NEWEST_COMPUTE}

    def ask(self, method, path, body=None):
        return ask(method, self.url + path, body, self.headers)[1]

    def create_flavor(self):
        flavor = {'name': 'tiny', 'id': '1', 'ram': 64, 'vcpus': 1, 'disk': 1}
        self.ask('POST', '/flavors', {'flavor': flavor})

    def create_servers(self, image, network, count):
        """Creates `lab-1` with a network interface, `lab-2` without, and more servers without."""
        requests = [('lab-1', [{'uuid': network}], 1), ('lab-2', 'none', 1), ('lab', 'none', count - 2)]
        for name, networks, servers in requests[:count]:
            if servers < 1:
                continue
            server = {
                'name': name,
                'imageRef': image,
                'flavorRef': '1',
                'networks': networks,
                'min_count': servers,
                'max_count': servers,
            }
            self.ask('POST', '/servers', {'server': server})
        self.lab.wait(f'{count} servers', lambda: self._are_active(count), 'nova')
        self.lab.say(f'{count} servers are ACTIVE')

    def _are_active(self, count):
        building = self.ask('GET', '/servers/detail?status=BUILD&limit=1')['servers']
        failed = self.ask('GET', '/servers/detail?status=ERROR&limit=1')['servers']
        if failed:
            raise SystemExit(f'{failed[0]["name"]}: {failed[0].get("fault", {}).get("message")}')
        if building:
            time.sleep(0.2)
        return not building
