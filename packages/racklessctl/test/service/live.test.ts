/** Events and consoles of a real bmc-daemon. */
import { chmodSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PASSWORD, startBmc, type Bmc } from '../support/bmc.js';
import { commandFixture } from '../support/command.js';

let bmc: Bmc;
beforeAll(async () => {
  bmc = await startBmc(['EMULATOR_CONSOLE_SSH_PORT = 0']);
});
afterAll(() => bmc.close());
const { json, run, start, write } = commandFixture();

describe('racklessctl watch', () => {
  it('prints events of the stream; Ctrl-C ends the command, which leaves no open session', async () => {
    const watching = start(['watch'], bmc.env);
    // The first event is about the subscription of the stream itself.
    await watching.waitForOutput('EventService/Subscriptions');
    await run(['power', 'on', 'node-1'], bmc.env);
    await watching.waitForOutput("node-1: 'node-1' was powered on.");
    watching.child.kill('SIGINT');
    expect(await watching.waitForExit()).toMatchObject({ code: 130, stderr: 'racklessctl: interrupted\n' });
    expect((await bmc.get('/redfish/v1/SessionService/Sessions'))['Members@odata.count']).toBe(0);
  });

  it('prints one line of JSON for each event of the selected machines, and ends after --count', async () => {
    const watching = start(['watch', 'node-3', '--count', '1', '--json'], bmc.env);
    // The watch begins at an unknown time, so changes continue until it has seen one.
    let changes = 0;
    const change = setInterval(() => {
      changes += 1;
      void run(['boot', 'set', changes % 2 === 0 ? 'cd' : 'pxe', 'node-2', 'node-3'], bmc.env);
    }, 1000);
    const { code, stdout } = await watching.waitForExit().finally(() => clearInterval(change));
    expect({ code, event: JSON.parse(stdout) as unknown }).toEqual({
      code: 0,
      event: expect.objectContaining({ machine: 'node-3', messageId: expect.stringMatching(/^ResourceEvent\./) }),
    });
  });
});

describe('racklessctl console', () => {
  it('runs ssh with the port and the entry command of the service', async () => {
    // ssh asks this program for the password, and stores the host key in the test's folder.
    const ask = write('ask', `#!/bin/sh\ncat <<'END'\n${PASSWORD}\nEND\n`);
    const ssh = write(
      'ssh',
      `#!/bin/sh\nexec /usr/bin/ssh -F /dev/null -o UserKnownHostsFile="$HOME/known" -o StrictHostKeyChecking=no "$@"\n`,
    );
    for (const program of [ask, ssh]) chmodSync(program, 0o700);
    const path = `${ssh.slice(0, -'/ssh'.length)}:${process.env['PATH'] ?? ''}`;
    const env = { ...bmc.env, PATH: path, SSH_ASKPASS: ask, SSH_ASKPASS_REQUIRE: 'force' };
    const { stdout, stderr } = await run(['console', 'node-2'], env, 'hello\n');
    expect(stderr).toContain('To leave the console, type ~.');
    expect(stderr).toContain('Connected to node-2');
    expect(stdout).toContain('hello');
  });

  it('prints the command for ssh with --print, and its parts as JSON', async () => {
    const { stdout } = await run(['console', 'node-1', '--print'], bmc.env);
    expect(stdout).toMatch(/^ssh -t -p \d+ -l admin -- 127\.0\.0\.1 node-1\n$/);
    expect(await json(['console', 'node-1'], bmc.env)).toMatchObject({ host: '127.0.0.1', user: 'admin' });
  });
});
