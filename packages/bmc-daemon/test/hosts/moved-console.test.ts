/** Tests the console of a real guest that migrates live between two libvirtds: over SSH, and its log. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { echoGuestXml, writeEchoDisk } from '../../../libvirt/test/harness/echo-guest.js';
import { SshClient } from '../console/ssh-client.js';
import { daemonFixture } from '../daemon/fixture.js';
import { LabHost, until } from './hosts-lab.js';

const { start, config } = daemonFixture();
let left: LabHost;
let right: LabHost;

beforeAll(async () => {
  [left, right] = await Promise.all([LabHost.start('left', 'qemu'), LabHost.start('right', 'qemu')]);
  const { dir } = left.libvirtd.daemon;
  const file = join(dir, 'tmp', 'echo.xml');
  await writeFile(file, echoGuestXml({ name: 'echo', disk: await writeEchoDisk(dir, 'tmp/echo.img') }));
  await left.virsh('define', file);
  await left.virsh('start', 'echo');
});
afterAll(async () => {
  await Promise.all([left.stop(), right.stop()]);
});

it('an SSH session to the console survives a migration, and the log continues the same boot', async () => {
  const daemon = start(
    [
      '--config',
      config(`EMULATOR_LIBVIRT_URI = {'left': '${left.uri}', 'right': '${right.uri}'}
EMULATOR_LISTEN_IP = '127.0.0.1'
EMULATOR_LISTEN_PORT = 0
EMULATOR_LIBVIRT_TIMEOUT_SECONDS = 30
`),
    ],
    { env: { EMULATOR_CONSOLE_SSH_PORT: '0' } },
  );
  const url = await daemon.address();
  const port = Number((await daemon.waitForLog(/^consoles over SSH at port/)).replace(/^.* /, ''));
  const get = async (path: string): Promise<Readonly<Record<string, unknown>>> =>
    (await (await fetch(`${url}/redfish/v1/Systems/echo${path}`)).json()) as Readonly<Record<string, unknown>>;
  const hostOf = async (): Promise<string> => JSON.stringify((await get(''))['Links']);
  await until('the host', async () => (await hostOf()).includes('/Chassis/left'));

  const client = new SshClient({ user: 'echo', port, options: ['-T'] });
  /**
   * Types a line until the guest echoes it: the serial port is closed for a moment when the guest
   * moves.
   */
  const echoed = async (text: string): Promise<void> => {
    const typing = setInterval(() => client.type(`${text}\r`), 250);
    await client.waitFor(text).finally(() => clearInterval(typing));
  };
  try {
    await client.waitFor('Connected to echo');
    await echoed('first');
    for (const [from, to] of [
      [left, right],
      [right, left],
    ] as const) {
      const flags = ['--live', '--unsafe', '--undefinesource', '--persistent', '--migrateuri', 'tcp://127.0.0.1'];
      await from.virsh('migrate', 'echo', to.libvirtd.daemon.uri, ...flags);
      await until('the new host', async () => (await hostOf()).includes(`/Chassis/${to.name}`));
      await echoed(`on ${to.name}`);
    }
    const log = '/LogServices/ConsoleLog/Entries';
    let text = '';
    // The log may get the last characters later than the client.
    await until('the last line in the log', async () => {
      text = await (await fetch(`${url}/redfish/v1/Systems/echo${log}/1/attachment`)).text();
      return text.includes('on left');
    });
    const { Members } = await get(log);
    const messages = (Members as readonly { Message: string }[]).map(({ Message }) => Message);
    expect(messages.filter((message) => message.startsWith('Boot '))).toHaveLength(1);
    expect(messages.filter((message) => message.includes('while the machine moved to another host'))).toHaveLength(2);
    // The attachment also has the output from before the last migration.
    for (const line of ['first', 'on right']) expect(text).toContain(line);
  } finally {
    await client.dispose();
  }
});
