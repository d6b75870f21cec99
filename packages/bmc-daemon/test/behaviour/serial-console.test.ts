/** Serial consoles in Redfish: SSH access, and sessions of connected users. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { resources, type AllServices } from '../../src/features.js';
import { serve, type Client } from '../support/client.js';
import { accessWithAccount, testServices } from '../support/services.js';

const root = '/redfish/v1';
const folders: string[] = [];
const clients: Client[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Starts the service with machines in memory. `uuid` is the first of them; `portless` has no serial port. */
async function start(parts: Partial<AllServices> = {}) {
  const driver = new FakeDriver();
  const [first] = await driver.listSystems();
  const { hasConsole, ...without } = await driver.getSystem('node-3');
  expect(hasConsole).toBe(true);
  driver.define(without);
  const services = testServices(driver, parts);
  const pipeline = createPipeline({
    resources,
    services,
    authenticate: services.access.authenticate,
    strict: true,
  });
  const client = await serve((request, response) => void pipeline(request, response, '1'));
  clients.push(client);
  const headers = { Authorization: `Basic ${Buffer.from('admin:secret').toString('base64')}` };
  const get = async (uri: string) => (await client.send('GET', uri, { headers })).json as Record<string, unknown>;
  return { client, headers, get, services, uuid: first?.uuid ?? '', portless: without.uuid };
}

describe('the serial console of a machine', () => {
  it('shows the SSH port, the command that opens the console, and the URI of the WebSocket', async () => {
    const { get, uuid } = await start();
    const { Name: name, SerialConsole: ofSystem } = await get(`${root}/Systems/${uuid}`);
    expect(ofSystem).toEqual({
      MaxConcurrentSessions: 80,
      SSH: {
        ServiceEnabled: true,
        Port: 2222,
        SharedWithManagerCLI: false,
        ConsoleEntryCommand: name,
        HotKeySequenceDisplay: '~. at the start of a line, or Ctrl-] and a dot',
      },
      WebSocket: {
        ServiceEnabled: true,
        Interactive: true,
        ConsoleURI: `${root}/Systems/${uuid}/SerialConsole`,
      },
    });
    expect((await get(`${root}/Managers/${uuid}`))['SerialConsole']).toEqual({
      ServiceEnabled: true,
      MaxConcurrentSessions: 64,
      ConnectTypesSupported: ['SSH'],
    });
    expect((await get(`${root}/Managers/${uuid}/NetworkProtocol`))['SSH']).toEqual({
      ProtocolEnabled: true,
      Port: 2222,
    });
  });

  it('is not shown if the machine has no serial port', async () => {
    const { get, portless } = await start();
    for (const uri of [`${root}/Systems/${portless}`, `${root}/Managers/${portless}`])
      expect(Object.keys(await get(uri))).not.toContain('SerialConsole');
  });

  it('has only the WebSocket if SSH is disabled', async () => {
    const { get, uuid } = await start({ consoleSsh: null });
    const { SerialConsole: ofSystem } = await get(`${root}/Systems/${uuid}`);
    expect(ofSystem).toMatchObject({ MaxConcurrentSessions: 16, WebSocket: { ServiceEnabled: true } });
    expect(ofSystem).not.toHaveProperty('SSH');
    expect(Object.keys(await get(`${root}/Managers/${uuid}`))).not.toContain('SerialConsole');
  });

  it('is not shown if SSH is disabled and the hypervisor has no consoles', async () => {
    const { get, uuid } = await start({ consoleSsh: null, webConsoles: null });
    for (const uri of [`${root}/Systems/${uuid}`, `${root}/Managers/${uuid}`])
      expect(Object.keys(await get(uri))).not.toContain('SerialConsole');
    expect((await get(`${root}/Managers/${uuid}/NetworkProtocol`))['SSH']).toEqual({
      ProtocolEnabled: false,
      Port: null,
    });
    expect((await get(`${root}/AccountService`))['SupportedAccountTypes']).toEqual(['Redfish']);
  });
});

describe('a user at a console', () => {
  it('has a session, which a client can end', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'bmc-console-'));
    folders.push(folder);
    const access = accessWithAccount(path.join(folder, 'users'));
    const { client, headers, get } = await start({ access });
    const asker = { address: '192.0.2.7', isGone: () => false };
    const opened = await access.openSession({ user: 'admin', password: 'secret', type: 'HostConsole' }, asker);
    if ('refused' in opened) throw new Error(opened.refused);
    const uri = `${root}/SessionService/Sessions/${opened.session.id}`;
    expect(await get(uri)).toEqual({
      '@odata.context': '/redfish/v1/$metadata#Session.Session',
      '@odata.id': uri,
      '@odata.type': '#Session.v1_8_0.Session',
      Id: opened.session.id,
      Name: 'Console Session',
      UserName: 'admin',
      Password: null,
      SessionType: 'HostConsole',
      ClientOriginIPAddress: '192.0.2.7',
      CreatedTime: opened.session.createdAt.toISOString(),
    });
    expect((await get(`${root}/AccountService/Accounts/admin`))['AccountTypes']).toEqual(['Redfish', 'HostConsole']);
    expect((await client.send('DELETE', uri, { headers })).status).toBe(204);
    expect(access.sessions.find(opened.session.id)).toBeUndefined();
  });
});
