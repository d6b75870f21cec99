/**
 * Tests serial consoles of a real Nova: SSH, WebSockets and Redfish, through Nova's own proxy. lab.test.ts runs
 * these tests in its lab.
 */
import { hashSync } from 'bcrypt';
import { writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { SshClient } from '../../console/ssh-client.js';
import { WebConsoleClient } from '../../console/web-console-client.js';
import { daemonFixture } from '../../daemon/fixture.js';
import { waitFor, type DaemonProcess } from '../../daemon/process.js';
import { bootableDisk } from '../../support/tiny-guest.js';
import { describeLab, labFile, openOwner, type LabOwner } from '../lab.js';

const PASSWORD = 'secret words';
const name = 'console-1';
const headers = { authorization: `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}` };

/** Declares the suite of serial consoles. */
export function describeSerialConsole(): void {
  describeLab('the serial console of a server', suite);
}

function suite(): void {
  const { start, at } = daemonFixture();
  let owner: LabOwner;
  let server = '';
  const clients: SshClient[] = [];
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.dispose()));
  });
  beforeAll(async () => {
    owner = openOwner();
    const disk = bootableDisk({ label: 'serial' });
    const imageRef = await owner.createImage('serial', { disk_format: 'raw' }, disk);
    server = await owner.create(name, { imageRef });
  });
  afterAll(async () => {
    if (server !== '') await owner.remove(server);
    owner.session.close();
  });

  /** Starts a daemon with accounts and SSH. @param state name of its state folder. @returns also its SSH port. */
  const serve = async (state = 'state'): Promise<{ daemon: DaemonProcess; url: string; port: number }> => {
    writeFileSync(at('users'), `admin:${hashSync(PASSWORD, 4)}\n`);
    const daemon = start(['--os-cloud', 'lab', '-i', '127.0.0.1', '-p', '0'], {
      env: {
        OS_CLIENT_CONFIG_FILE: labFile(),
        EMULATOR_AUTH_FILE: at('users'),
        STATE_DIRECTORY: at(state),
        EMULATOR_CONSOLE_SSH_PORT: '0',
        EMULATOR_TASK_AFTER_SECONDS: '600',
      },
    });
    const line = await daemon.waitForLog(/^consoles over SSH at port /);
    return { daemon, url: await daemon.address(), port: Number(/\d+$/.exec(line)?.[0]) };
  };
  const read = async (url: string, path: string) => {
    const answer = await fetch(url + path, { headers });
    return (await answer.json()) as Record<string, unknown>; // every resource is an object
  };
  const reset = async (url: string, type: string): Promise<void> => {
    const { status } = await fetch(`${url}/redfish/v1/Systems/${name}/Actions/ComputerSystem.Reset`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ ResetType: type }),
    });
    expect(status).toBe(204);
  };
  const connect = (port: number, options: readonly string[] = ['-tt']): SshClient => {
    const client = new SshClient({ user: `admin/${name}`, port, answers: [PASSWORD], options });
    clients.push(client);
    return client;
  };
  /** Waits until the system shows a serial console. Returns SerialConsole of the system and of its manager. */
  const shownConsole = async (url: string) => {
    const system = await waitFor(
      async () => (await read(url, `/redfish/v1/Systems/${name}`))['SerialConsole'] as object | undefined,
      () => 'the server shows no serial console',
    );
    return { system, manager: (await read(url, `/redfish/v1/Managers/${name}`))['SerialConsole'] };
  };

  it('is shared by clients over SSH and a WebSocket; over SSH, it is connected again after a stop and a start', async () => {
    const { url, port } = await serve();
    expect(await shownConsole(url)).toMatchObject({
      system: {
        SSH: { ServiceEnabled: true, Port: port, ConsoleEntryCommand: name },
        WebSocket: { ServiceEnabled: true },
      },
      manager: { ServiceEnabled: true, ConnectTypesSupported: ['SSH'] },
    });
    const olga = connect(port);
    await olga.waitFor(`Connected to ${name}`);
    // The guest restarts when it receives an `r`.
    olga.type('r');
    await olga.waitFor('boot serial');
    const path = `/redfish/v1/Systems/${server}/SerialConsole`;
    const browser = await new WebConsoleClient(url + path, ['rackless'], { headers }).opened();
    // The browser also gets output from before it connected.
    await browser.waitFor('boot serial');
    const rick = connect(port);
    await rick.waitFor(`Connected to ${name}`);
    rick.type('r');
    await rick.waitFor('has the keyboard');
    olga.type('r');
    for (const client of [olga, rick, browser]) await client.waitFor('boot serial');
    await reset(url, 'ForceOff');
    for (const client of [olga, rick]) await client.waitFor('the machine is off');
    await reset(url, 'On');
    for (const client of [olga, rick]) {
      await client.waitFor(`connected to ${name}`);
      await client.dispose();
    }
    browser.dispose();
  });

  it('is free for another daemon as soon as no client of this daemon uses it', async () => {
    const { url, port } = await serve();
    await shownConsole(url);
    const other = await serve('other');
    const first = connect(port);
    await first.waitFor(`Connected to ${name}`);
    first.type('r');
    await first.waitFor('boot serial');
    await first.dispose();
    const second = connect(other.port);
    await second.waitFor(`Connected to ${name}`);
    second.type('r');
    await second.waitFor('boot serial');
    await second.dispose();
  });
}
