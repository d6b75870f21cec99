/** Contract, configuration and authentication: at least one test per row. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { freePort } from '../../../daemon/test/support/free-port.js';
import { settingsTable } from '../../src/config/settings.js';
import { apiVersion, PASSWORD, sendJson, startCloudServer } from '../support/cloud-server.js';
import { ConfigurationFolder } from './configured.js';

const run = promisify(execFile);

/** Returns status and body of a GET. */
async function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<[number, string]> {
  const response = await fetch(url, { headers });
  return [response.status, await response.text()];
}

function basic(user: string, password: string): Readonly<Record<string, string>> {
  return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

/** Returns a clouds.yaml with the cloud `lab`. */
function cloudsFile(url: string, password: string): string {
  const auth = [`auth_url: ${url}`, `password: ${password}`, 'user_id: u', 'project_id: p'];
  return ['clouds:', '  lab:', '    auth:', ...auth.map((line) => `      ${line}`), ''].join('\n');
}

/** Expects 503 with the time after which the client may ask again. */
async function expectBusy(url: string): Promise<void> {
  const response = await fetch(url);
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect(await response.text()).toContain('ServiceTemporarilyUnavailable');
}

describe('configuration', () => {
  let folder: ConfigurationFolder;
  beforeEach(() => {
    folder = new ConfigurationFolder();
  });
  afterEach(() => folder.remove());

  it('RF-1 EMULATOR_LISTEN_IP: the address on which the daemon listens. Default: 0.0.0.0', async () => {
    expect(settingsTable.listenIp.default).toBe('0.0.0.0');
    const { url } = await folder.start("EMULATOR_LISTEN_IP = '127.0.0.2'");
    expect(new URL(url).hostname).toBe('127.0.0.2');
    expect((await get(`${url}/redfish`))[0]).toBe(200);
    await expect(get(url.replace('127.0.0.2', '127.0.0.1'))).rejects.toThrow('fetch failed');
  });

  it('RF-2 EMULATOR_LISTEN_PORT: the TCP port on which the daemon listens', async () => {
    const port = await freePort();
    const { url } = await folder.start(`EMULATOR_LISTEN_PORT = ${port}`);
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect((await get(`${url}/redfish`))[0]).toBe(200);
  });

  const makeCertificate = async (): Promise<{ cert: string; key: string }> => {
    const [cert, key] = [join(folder.path, 'cert.pem'), join(folder.path, 'key.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
    await run('openssl', [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      key,
      '-out',
      cert,
      ...subject,
    ]);
    return { cert, key };
  };

  it('RF-3 EMULATOR_SSL_CERT: the file of the certificate. Without EMULATOR_SSL_KEY, the daemon does not start', async () => {
    const { cert, key } = await makeCertificate();
    const { url } = await folder.start(`EMULATOR_SSL_CERT = '${cert}'`, `EMULATOR_SSL_KEY = '${key}'`);
    expect(url).toMatch(/^https:/);
    const status = await new Promise((resolve, reject) => {
      const sent = httpsRequest(`${url}/redfish`, { ca: readFileSync(cert), agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.once('error', reject).end();
    });
    expect(status).toBe(200);
    const alone = await folder.start(`EMULATOR_SSL_CERT = '${cert}'`);
    expect(alone.faults).toEqual([expect.stringContaining('EMULATOR_SSL_KEY')]);
  });

  it('RF-4 EMULATOR_SSL_KEY: the file of its private key. Without EMULATOR_SSL_CERT, the daemon does not start. If neither is set: HTTP', async () => {
    const { key } = await makeCertificate();
    const alone = await folder.start(`EMULATOR_SSL_KEY = '${key}'`);
    expect(alone.faults).toEqual([expect.stringContaining('EMULATOR_SSL_CERT')]);
    const { url } = await folder.start('EMULATOR_SSL_CERT = None', 'EMULATOR_SSL_KEY = None');
    expect(url).toMatch(/^http:/);
  });

  it('RF-5 EMULATOR_OS_CLOUD: the servers of an OpenStack cloud instead of the machines of libvirt', async () => {
    expect((await folder.start('EMULATOR_OS_CLOUD = None')).faults).toEqual([]);
    const lines = ['EMULATOR_FAKE_DRIVER = False', "EMULATOR_OS_CLOUD = 'lab'"];
    const { faults } = await folder.start(...lines);
    expect(faults).toEqual([
      expect.stringMatching(/emulator\.conf:7: EMULATOR_OS_CLOUD .*there is no clouds\.yaml in/),
    ]);
    const cloud = await startCloudServer();
    try {
      mkdirSync(join(folder.path, 'openstack'));
      folder.write('openstack/clouds.yaml', cloudsFile(cloud.url, PASSWORD));
      cloud.nova = (_request, response, path) => {
        sendJson(response, 200, path === '/' ? apiVersion : { servers: [] });
      };
      const { url } = await folder.start(...lines);
      expect(await get(`${url}/redfish/v1/Systems`)).toEqual([200, expect.stringContaining('"Members":[]')]);
      cloud.nova = (_request, response) => sendJson(response, 503, {}, { 'retry-after': '3600' });
      await expectBusy(`${url}/redfish/v1/Systems/00000000-0000-4000-8000-000000000001`);
    } finally {
      await cloud.close();
    }
  });

  it('RF-5 EMULATOR_OS_CLOUD: the daemon does not start if the cloud rejects the credentials, or if a libvirt URI is set too', async () => {
    const cloud = await startCloudServer();
    try {
      mkdirSync(join(folder.path, 'openstack'));
      folder.write('openstack/clouds.yaml', cloudsFile(cloud.url, 'wrong'));
      const lines = ['EMULATOR_FAKE_DRIVER = False', "EMULATOR_OS_CLOUD = 'lab'"];
      await expect(folder.start(...lines)).rejects.toThrow(
        /emulator\.conf:7: EMULATOR_OS_CLOUD .*clouds\.yaml:5: auth\.password: Keystone rejects the credentials/,
      );
      const { faults } = await folder.start(...lines, "EMULATOR_LIBVIRT_URI = 'qemu:///session'");
      expect(faults).toEqual([
        expect.stringMatching(/emulator\.conf:8: EMULATOR_LIBVIRT_URI is set together with EMULATOR_OS_CLOUD/),
      ]);
    } finally {
      await cloud.close();
    }
  });

  it('RF-5 EMULATOR_OS_CLOUD: while the cloud is unreachable, the collections of machines answer 503', async () => {
    const cloud = await startCloudServer();
    await cloud.close();
    mkdirSync(join(folder.path, 'openstack'));
    folder.write('openstack/clouds.yaml', cloudsFile(cloud.url, PASSWORD));
    const { url } = await folder.start('EMULATOR_FAKE_DRIVER = False', "EMULATOR_OS_CLOUD = 'lab'");
    expect((await get(`${url}/redfish/v1`))[0]).toBe(200);
    await expectBusy(`${url}/redfish/v1/Systems`);
  });

  it('RF-6 EMULATOR_LIBVIRT_URI: the libvirt host with the machines. While it is unreachable, the collections of machines answer 503', async () => {
    expect(settingsTable.libvirtUri.default).toBe('qemu:///system');
    const socket = join(folder.path, 'no-libvirtd');
    const { url, faults } = await folder.start(
      'EMULATOR_FAKE_DRIVER = False',
      `EMULATOR_LIBVIRT_URI = 'qemu+unix:///system?socket=${socket}'`,
    );
    expect(faults).toEqual([]);
    expect((await get(`${url}/redfish/v1`))[0]).toBe(200);
    const response = await fetch(`${url}/redfish/v1/Systems`);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await response.text()).toContain('ServiceTemporarilyUnavailable');
  });

  it('RF-7 EMULATOR_AUTH_FILE: the password file. If it is not set, every client has access', async () => {
    const open = await folder.start('EMULATOR_AUTH_FILE = None');
    expect((await get(`${open.url}/redfish/v1/Systems`))[0]).toBe(200);
    const { faults } = await folder.start("EMULATOR_AUTH_FILE = 'nowhere'");
    expect(faults).toEqual([expect.stringContaining('nowhere')]);
  });

  it('RF-8 EMULATOR_IGNORE_BOOT_DEVICE: True: a PATCH does not change the boot target. Default: False', async () => {
    expect(settingsTable.ignoreBootDevice.default).toBe(false);
    for (const [value, expected] of [
      ['False', 'Cd'],
      ['True', 'Hdd'],
    ]) {
      const { url } = await folder.start(`EMULATOR_IGNORE_BOOT_DEVICE = ${value ?? ''}`);
      const response = await fetch(`${url}/redfish/v1/Systems/node-1`, {
        method: 'PATCH',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ Boot: { BootSourceOverrideTarget: 'Cd' } }),
      });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain(`"BootSourceOverrideTarget":"${expected ?? ''}"`);
    }
  });

  it('RF-9 EMULATOR_BOOT_LOADER_MAP: a firmware file or None for each boot mode and architecture. The daemon rejects other values', async () => {
    const sample = [
      'EMULATOR_BOOT_LOADER_MAP = {',
      "    'UEFI': {'x86_64': None, 'aarch64': '/usr/share/AAVMF/AAVMF_CODE.fd'},",
      "    'Legacy': {'x86_64': None, 'aarch64': None},",
      '}',
    ];
    expect((await folder.start(...sample)).faults).toEqual([]);
    const { faults } = await folder.start("EMULATOR_BOOT_LOADER_MAP = {'UEFI': 'x86_64'}");
    expect(faults).toEqual([expect.stringMatching(/emulator\.conf:6: .*EMULATOR_BOOT_LOADER_MAP/)]);
  });

  it('RF-77 Default port: the port is 8000 if the configuration sets none', () => {
    expect(settingsTable.listenPort.default).toBe(8000);
  });
});

describe('authentication', () => {
  let folder: ConfigurationFolder;
  let url: string;
  beforeEach(async () => {
    folder = new ConfigurationFolder();
    folder.write('users', `admin:${await bcrypt.hash('pass:word', 4)}\n`);
    ({ url } = await folder.start("EMULATOR_AUTH_FILE = 'users'"));
  });
  afterEach(() => folder.remove());

  it('RF-73 Password file: lines in htpasswd format with bcrypt hashes, for example of the user admin', async () => {
    expect((await get(`${url}/redfish/v1/Systems`, basic('admin', 'pass:word')))[0]).toBe(200);
    const hash = await bcrypt.hash('other', 4);
    folder.write('users', `admin:${hash.replace('$2b$', '$2y$')}\n`);
    const again = await folder.start("EMULATOR_AUTH_FILE = 'users'");
    expect((await get(`${again.url}/redfish/v1/Systems`, basic('admin', 'other')))[0]).toBe(200);
  });

  it('RF-74 Missing credentials: 401, except for the service root, protocol documents and the login', async () => {
    const system = `${url}/redfish/v1/Systems/node-1`;
    const requests: readonly [string, string][] = [
      ['GET', `${url}/redfish/v1/Systems`],
      ['GET', system],
      ['GET', `${url}/redfish/v1/Managers/node-1`],
      ['GET', `${url}/redfish/v1/Nowhere`],
      ['PATCH', system],
      ['POST', `${system}/Actions/ComputerSystem.Reset`],
      ['POST', `${url}/redfish/v1/Managers/node-1/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`],
      ['POST', `${url}/redfish/v1/Managers/node-1/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia`],
    ];
    for (const [method, path] of requests) {
      const response = await fetch(path, { method });
      expect([method, path, response.status]).toEqual([method, path, 401]);
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
      await response.arrayBuffer();
    }
    for (const open of ['/redfish', '/redfish/v1', '/redfish/v1/$metadata', '/redfish/v1/odata']) {
      expect([open, (await get(`${url}${open}`))[0]]).toEqual([open, 200]);
    }
    const sessions = `${url}/redfish/v1/SessionService/Sessions`;
    const login = await fetch(sessions, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ UserName: 'admin', Password: 'pass:word' }),
    });
    expect(login.status).toBe(201);
    // One attempt each, because the service answers repeated wrong passwords slowly.
    for (const wrong of [basic('admin', 'guess'), basic('nobody', 'pass:word'), { Authorization: 'Basic !' }]) {
      expect((await get(system, wrong))[0]).toBe(401);
    }
  });

  it('RF-75 Credentials in the URL: http://<USER>:<PASSWORD>@host:port works with curl', async () => {
    const address = `${url.replace('http://', 'http://admin:pass%3Aword@')}/redfish/v1/Systems`;
    const { stdout } = await run('curl', ['-s', '-w', '\n%{http_code}', address]);
    expect(stdout.split('\n').at(-1)).toBe('200');
  });
});
