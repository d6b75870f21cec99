/** The serial console of a real guest over SSH, with OpenSSH's client in a terminal. */
import { spawn, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { SshClient } from '../console/ssh-client.js';
import { copyGuestImage } from '../harness/guest-image.js';
import { guestMachineXml } from '../harness/guest-machine.js';
import { Lab } from './lab.js';
import { describeEndToEnd } from './prerequisites.js';

jest.setTimeout(600_000);

const name = 'e2e-console';
const folder = mkdtempSync(join(tmpdir(), 'rackless-console-'));
let lab: Lab;
const clients: SshClient[] = [];

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeEndToEnd('the console of a guest', () => {
  beforeAll(async () => {
    const users = join(folder, 'users');
    writeFileSync(users, '');
    execFileSync('htpasswd', ['-bB', '-C', '4', users, 'admin', 'secret words'], { stdio: 'pipe' });
    lab = await Lab.start({ settings: [`EMULATOR_AUTH_FILE = '${users}'`, 'EMULATOR_CONSOLE_SSH_PORT = 0'] });
    const disk = await copyGuestImage(
      { kind: 'disk', system: 'grub', label: 'DISK' },
      join(lab.libvirtd.dir, 'tmp', `${name}.img`),
    );
    const xml = guestMachineXml({
      name,
      uuid: 'e2e00000-0000-4000-8000-00000000c0de',
      firmware: 'bios',
      machine: 'pc',
      disk,
      serial: { markup: "<serial type='pty'/>" },
    });
    writeFileSync(join(lab.libvirtd.dir, 'tmp', `${name}.xml`), xml);
    await lab.virsh('define', join(lab.libvirtd.dir, 'tmp', `${name}.xml`));
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.dispose()));
    await lab.stop();
  });

  it('shows the output of a start, accepts input, and returns to its client after another program forced access', async () => {
    const port = Number((await lab.daemon.waitForLog(/^consoles over SSH at port/)).replace(/^.* /, ''));
    const client = new SshClient({
      user: `admin/${name}`,
      port,
      answers: ['secret words'],
      options: ['-tt', '-e', 'none'],
    });
    clients.push(client);
    await client.waitFor(`[${name}: the machine is off; waiting for the console`);
    // virsh, not the daemon, starts the machine. The waiting SSH client shows the output nevertheless.
    await lab.virsh('start', name);
    await client.waitFor(`[connected to ${name}]`);
    await client.waitFor('RACKLESS-DISK label=DISK platform=pc');
    await client.waitFor('grub> ');
    client.type('echo written-here\r');
    await client.waitFor(/\n\r?written-here\s/);

    // virsh needs a terminal, which script(1) provides.
    const command = `virsh --connect ${lab.libvirtd.uri} console --force ${name}`;
    const virsh = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const exited = once(virsh, 'exit');
    await client.waitFor(`[${name}: another program uses the console]`);
    // Ctrl+] ends `virsh console`.
    virsh.stdin.write('\u001D');
    await exited;
    await client.waitFor(`[connected to ${name}]`);
    client.type('\recho and-here\r');
    await client.waitFor(/\n\r?and-here\s/);

    // A restart by the guest does not close its console.
    client.type('reboot\r');
    await client.waitFor('RACKLESS-DISK label=DISK platform=pc');
    await lab.virsh('destroy', name);
    await client.waitFor(`[${name}: the machine is off]`);
    // With `-e none`, ssh sends `~.` to the daemon, which closes the console.
    client.type('\r~.');
    expect(await client.exit()).toBe(0);
    expect(client.stdout.endsWith(`[left the console of ${name}]\r\n`)).toBe(true);
  });
});
