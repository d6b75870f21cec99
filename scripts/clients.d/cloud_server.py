"""A server in an OpenStack of scripts/openstack-lab, for scripts/clients and scripts/conformance.

`cloud_server.py CLOUDS_YAML create DISK CONSOLES` creates the server and prints its id. The server boots a
copy of DISK, and has the memory and the disk size that Ironic needs. CONSOLES/client-1.log becomes a link
to the log of its serial console.
`cloud_server.py CLOUDS_YAML delete ID` deletes the server.
`cloud_server.py CLOUDS_YAML image NAME FORMAT FILE [PROPERTY=VALUE]...` stores an image, unless there is
an image with this name.
"""
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / 'openstack.d'))
from cloud import NEWEST_COMPUTE, ask, token  # noqa: E402 (the folder of the line above)

NAME = 'client-1'
FLAVOR = 'client'
DEADLINE_SECONDS = 900


class Cloud:
    def __init__(self, clouds):
        text = clouds.read_text()
        identity = re.search(r'auth_url: (\S+)/v3', text)[1]
        session, body = self.log_in(identity, re.search(r'password: (\S+)', text)[1])
        self.headers = {'X-Auth-Token': session, **NEWEST_COMPUTE}
        self.urls = {service['type']: service['endpoints'][0]['url'] for service in body['token']['catalog']}

    @staticmethod
    def log_in(identity, password):
        session = token(identity, password)
        return session, ask('GET', f'{identity}/v3/auth/tokens', None, {'X-Auth-Token': session, 'X-Subject-Token': session})[1]

    def ask(self, method, service, path, body=None, **headers):
        return ask(method, self.urls[service] + path, body, {**self.headers, **headers})[1]

    def create_image(self, name, disk_format, file, **properties):
        image = {'name': name, 'disk_format': disk_format, 'container_format': 'bare', 'visibility': 'public', **properties}
        created = self.ask('POST', 'image', '/v2/images', image)
        self.ask('PUT', 'image', f'/v2/images/{created["id"]}/file', file.read_bytes(), **{'Content-Type': 'application/octet-stream'})
        return created['id']

    def has_image(self, name):
        return bool(self.ask('GET', 'image', f'/v2/images?name={name}')['images'])

    def create_server(self, image):
        if FLAVOR not in [flavor['id'] for flavor in self.ask('GET', 'compute', '/flavors')['flavors']]:
            self.ask('POST', 'compute', '/flavors', {'flavor': {'name': FLAVOR, 'id': FLAVOR, 'ram': 1024, 'vcpus': 2, 'disk': 8}})
        network = self.ask('GET', 'network', '/v2.0/networks')['networks'][0]['id']
        server = {'name': NAME, 'imageRef': image, 'flavorRef': FLAVOR, 'networks': [{'uuid': network}]}
        return self.ask('POST', 'compute', '/servers', {'server': server})['server']['id']

    def wait_for(self, server):
        end = time.monotonic() + DEADLINE_SECONDS
        while True:
            status = self.ask('GET', 'compute', f'/servers/{server}')['server']['status']
            if status == 'ACTIVE':
                return
            if status == 'ERROR' or time.monotonic() > end:
                sys.exit(f'server {NAME} is {status}')
            time.sleep(0.5)


def main():
    clouds, command, *rest = sys.argv[1:]
    clouds = Path(clouds)
    cloud = Cloud(clouds)
    if command == 'delete':
        cloud.ask('DELETE', 'compute', f'/servers/{rest[0]}')
        return
    if command == 'image':
        name, disk_format, file, *properties = rest
        if not cloud.has_image(name):
            cloud.create_image(name, disk_format, Path(file), **dict(text.split('=', 1) for text in properties))
        return
    disk, consoles = map(Path, rest)
    server = cloud.create_server(cloud.create_image(NAME, 'raw', disk, hw_firmware_type='bios'))
    cloud.wait_for(server)
    consoles.mkdir(parents=True, exist_ok=True)
    (consoles / f'{NAME}.log').symlink_to(clouds.parent / 'instances' / server / 'console.log')
    print(server)


if __name__ == '__main__':
    main()
