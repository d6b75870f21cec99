/** Lists and switches the machines of a real bmc-daemon. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBmc, type Bmc } from '../support/bmc.js';
import { commandFixture } from '../support/command.js';

let bmc: Bmc;
beforeAll(async () => {
  bmc = await startBmc();
});
afterAll(() => bmc.close());
const { at, json, run, write } = commandFixture();

const UUID = '5ac4fa6e-0000-4000-8000-00000000000';
const powerOf = async (number: number): Promise<unknown> =>
  (await bmc.get(`/redfish/v1/Systems/${UUID}${number}`))['PowerState'];

describe('racklessctl list', () => {
  it('prints a table for people', async () => {
    const { code, stdout, stderr } = await run(['list'], bmc.env);
    expect({ code, stderr, lines: stdout.split('\n') }).toEqual({
      code: 0,
      stderr: '',
      lines: [
        expect.stringMatching(/^NAME {4}POWER {2}HEALTH {2}CPUS {2}MEMORY {3}MODEL$/),
        expect.stringMatching(/^node-1 {2}(On|Off) +OK {6}2 {5}2 GiB {4}Rackless /),
        expect.stringMatching(/^node-2 {2}(On|Off) +OK {6}8 {5}24 GiB {3}Example Servers ES-1000$/),
        expect.stringMatching(/^node-3 {2}(On|Off) +OK {6}1 {5}0.5 GiB {2}Rackless /),
        '',
      ],
    });
  });

  it('prints JSON for scripts', async () => {
    expect(await json(['list', 'node-2'], bmc.env)).toEqual([
      expect.objectContaining({ name: 'node-2', uuid: `${UUID}2`, cpus: 8, memoryGib: 24, serial: 'ES1000-0002' }),
    ]);
  });

  it.each([
    ['a name', 'node-2', 'node-2'],
    ['a name in another case', 'NODE-2', 'node-2'],
    ['a UUID', `${UUID}3`, 'node-3'],
    ['the beginning of a serial number', 'ES1000', 'node-2'],
    ['a pattern', '*[13]', 'node-1 node-3'],
  ])('selects machines by %s', async (_, pattern, names) => {
    const rows = (await json(['list', pattern], bmc.env)) as readonly { readonly name: string }[];
    expect(rows.map(({ name }) => name).join(' ')).toBe(names);
  });

  it.each([
    ['node', /'node' matches 3 machines: node-1, node-2, node-3\. Name one of them, or use 'node\*'/],
    ['web', /there is no machine 'web'\. The machines are: node-1, node-2, node-3/],
    ['x*', /there is no machine 'x\*'/],
  ])('rejects %s with exit code 66', async (pattern, text) => {
    const { code, stderr } = await run(['list', pattern], bmc.env);
    expect({ code, stderr }).toEqual({ code: 66, stderr: expect.stringMatching(text) });
  });
});

describe('racklessctl power', () => {
  it('switches on, waits, and says that a machine is already on', async () => {
    expect(await run(['power', 'on', 'node-1', '--wait', '60'], bmc.env)).toMatchObject({
      code: 0,
      stdout: 'node-1: on\n',
    });
    expect(await powerOf(1)).toBe('On');
    expect(await run(['power', 'on', 'node-1'], bmc.env)).toMatchObject({ stdout: 'node-1: already on\n' });
  });

  it('switches several machines off and reports each', async () => {
    const off = (await json(['power', 'force-off', '--all', '--wait', '60'], bmc.env)) as readonly object[];
    expect(off.map((each) => ({ ...each, result: '' }))).toEqual(
      [1, 2, 3].map((number) => ({
        name: `node-${number}`,
        id: `${UUID}${number}`,
        uuid: `${UUID}${number}`,
        result: '',
      })),
    );
    expect(await Promise.all([1, 2, 3].map(powerOf))).toEqual(['Off', 'Off', 'Off']);
    const { stdout } = await run(['power', 'status', '--all'], bmc.env);
    expect(stdout).toBe('NAME    POWER\nnode-1  Off\nnode-2  Off\nnode-3  Off\n');
  });

  it("names the machine, not its UUID, in the service's reason", async () => {
    await run(['power', 'force-off', 'node-3'], bmc.env);
    expect(await run(['power', 'restart', 'node-3'], bmc.env)).toEqual({
      code: 1,
      stdout: '',
      stderr: "node-3: ResetType GracefulRestart: The machine 'node-3' must be on for this.\n",
    });
  });

  it("prints the service's reason if it rejects an action", async () => {
    const { code, stdout, stderr } = await run(['power', 'nmi', 'node-3', 'node-1'], bmc.env);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.split('\n').filter((line) => line.startsWith('node-3: ResetType Nmi: '))).toHaveLength(1);
    expect(stderr).toContain('racklessctl: 2 of 2 machines failed\n');
  });
});

describe('an invalid command line', () => {
  it.each([
    [['power', 'on'], 'name a machine, or give --all'],
    [['power', 'on', 'node-1', '--all'], '--all and names of machines exclude each other'],
    [['power', 'on', 'node-1', '--wait', 'long'], "--wait must be a number above 0, not 'long'"],
    // A timer of more than 2^31 ms fires at once.
    [['list', '--timeout', '2147484'], "--timeout must be 2147483 s or less, not '2147484'"],
    [['list', '--auth', 'none'], "auth must be session or basic, not 'none'"],
    [['list', '--url', 'http://admin:secret@127.0.0.1'], 'must not contain a user or a password'],
    [['powr'], "unknown command 'powr'"],
  ])('makes racklessctl exit with 64: %j', async (args, text) => {
    const { code, stderr } = await run(args, bmc.env);
    expect({ code, stderr }).toEqual({ code: 64, stderr: expect.stringContaining(text) });
    expect(stderr).not.toContain('secret');
  });
});

describe('a session', () => {
  const sessions = async (): Promise<unknown> =>
    (await bmc.get('/redfish/v1/SessionService/Sessions'))['Members@odata.count'];

  it('ends with the command, also if the command fails', async () => {
    await run(['list'], bmc.env);
    await run(['list', 'nowhere'], bmc.env);
    expect(await sessions()).toBe(0);
  });

  it('is optional: a command with --auth basic succeeds', async () => {
    expect(await run(['list', '--auth', 'basic'], bmc.env)).toMatchObject({ code: 0 });
  });

  it.each(['session', 'basic'])(
    'needs the right password (%s); a wrong one gives exit code 77 and is not printed',
    async (auth) => {
      const { code, stdout, stderr } = await run(['list', '--auth', auth], {
        ...bmc.env,
        RACKLESSCTL_PASSWORD: 'wrong one',
      });
      expect({ code, stdout }).toEqual({ code: 77, stdout: '' });
      expect(stderr).toContain('rejects');
      expect(stderr).not.toContain('wrong one');
    },
  );
});

describe('a context', () => {
  it('is not lost when several commands store contexts at the same time', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `rack-${index}`);
    const ends = await Promise.all(names.map((name) => run(['context', 'set', name, '--url', 'https://192.0.2.1'])));
    expect(ends.map(({ code }) => code)).toEqual(names.map(() => 0));
    const rows = (await json(['context', 'list'])) as readonly { readonly name: string }[];
    expect(rows.map(({ name }) => name).sort()).toEqual(names);
  });

  it('is stored, selected, listed and removed', async () => {
    write('password', `${bmc.env['RACKLESSCTL_PASSWORD'] ?? ''}\n`);
    const set = ['context', 'set', 'lab', '--url', bmc.url, '--user', 'admin', '--password-file', 'password'];
    expect(await run(set)).toMatchObject({ code: 0 });
    await run(['context', 'set', 'other', '--url', 'https://192.0.2.1', '--insecure']);
    expect(await run(['list', 'node-1'])).toMatchObject({ code: 0 });
    expect(await json(['context', 'list'])).toEqual([
      {
        ...{ name: 'lab', current: true, url: bmc.url, user: 'admin', password: `file ${at('password')}` },
        ...{ insecure: false, auth: 'session' },
      },
      { name: 'other', current: false, url: 'https://192.0.2.1', insecure: true, auth: 'session' },
    ]);
    expect(await run(['context', 'use', 'other'])).toMatchObject({ code: 0 });
    expect(await run(['context', 'remove', 'other'])).toMatchObject({ code: 0 });
    expect(await run(['list', '-c', 'other'])).toMatchObject({ code: 66 });
  });

  it('gets its password from a command; if that fails or prints too much, racklessctl exits with 78', async () => {
    const password = write('password', `${bmc.env['RACKLESSCTL_PASSWORD'] ?? ''}\n`);
    const file = write(
      'contexts.yaml',
      `contexts:\n  lab: {url: '${bmc.url}', user: admin, password-command: "cat '${password}'"}\n`,
    );
    expect(await run(['list', 'node-1', '--config', file])).toMatchObject({ code: 0, stderr: '' });
    write(
      'contexts.yaml',
      `contexts:\n  lab: {url: '${bmc.url}', user: admin, password-command: 'echo hidden; echo locked >&2; exit 3'}\n`,
    );
    const failed = await run(['list', '--config', file]);
    expect(failed).toMatchObject({
      code: 78,
      stderr: 'locked\nracklessctl: password-command failed with exit code 3\n',
    });
    write('contexts.yaml', `contexts:\n  lab: {url: '${bmc.url}', user: admin, password-command: 'yes'}\n`);
    expect(await run(['list', '--config', file])).toMatchObject({
      code: 78,
      stderr: expect.stringContaining(
        'racklessctl: password-command failed: it printed more than 1048576 characters\n',
      ),
    });
  });

  it('can be a pattern: the command shows several services in one table', async () => {
    const lab = `{url: '${bmc.url}', user: admin, password: '${bmc.env['RACKLESSCTL_PASSWORD'] ?? ''}'}`;
    const file = write('contexts.yaml', `contexts:\n  rack1-a: ${lab}\n  rack1-b: ${lab}\n`);
    const { code, stdout } = await run(['power', 'status', 'node-2*', '-c', 'rack1-*', '--config', file]);
    expect({ code, names: stdout.match(/^rack1-\S*/gm) }).toEqual({
      code: 0,
      names: ['rack1-a/node-2', 'rack1-b/node-2'],
    });
  });

  it.each([
    [
      'contexts:\n  lab: {url: "https://h", passwort: x}',
      0o600,
      'contexts.yaml:2: passwort is not a known key. Did you mean password?',
    ],
    ['contexts: [a]', 0o600, 'contexts.yaml:1: contexts must be a mapping of names'],
    ['contexts:\n  lab: {url: "https://h", insecure: maybe}', 0o600, 'contexts.yaml:2: insecure must be true or false'],
    ['contexts: {', 0o600, 'this is not valid YAML'],
    ['contexts:\n  lab: {url: "https://h", password: x}', 0o644, "other users may read it. Run: chmod 600 '"],
    // YAML would read 0123 as 83, and the login would fail.
    ['contexts:\n  lab: {url: "https://h", password: 0123}', 0o600, 'contexts.yaml:2: password is a number for YAML'],
    ['contexts:\n  lab: {user: admin}', 0o600, 'context lab: url is missing'],
  ])('with the fault %j makes the command fail with exit code 78', async (text, mode, reason) => {
    const { code, stderr } = await run(['list', '--config', write('contexts.yaml', text, mode)]);
    expect({ code, stderr }).toEqual({ code: 78, stderr: expect.stringContaining(reason) });
  });
});

describe('a command with a user and without a password', () => {
  it('exits with 78 if there is no terminal', async () => {
    const { code, stderr } = await run(['list', '--url', bmc.url, '--user', 'admin']);
    expect({ code, stderr }).toEqual({
      code: 78,
      stderr: expect.stringContaining('there is no password for admin at 127.0.0.1'),
    });
  });
});
