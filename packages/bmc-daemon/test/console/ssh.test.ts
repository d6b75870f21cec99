/** Tests serial consoles over SSH with OpenSSH's client, on machines in memory. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openAccess, type Access } from '../../src/auth/access.js';
import { initialAccessState } from '../../src/auth/access-state.js';
import { createConsoleHub, type ConsoleHub, type ConsoleSeat } from '../../src/console/console-hub.js';
import type { ConsoleListener } from '../../src/console/console-line.js';
import { openHostKeys, type HostKey } from '../../src/console/ssh/ssh-host-keys.js';
import { openSshServer, type SshServer, type SshServerOptions } from '../../src/console/ssh/ssh-server.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { stateInMemory, unpaced } from '../support/services.js';
import { SshClient, type SshOptions } from './ssh-client.js';

const USERS = {
  admin: 'secret words',
  olga: 'operates all',
  rick: 'reads a lot',
  nora: 'has to change',
  dora: 'is out',
  nick: 'will be out',
};

let folder: string;
let driver: FakeDriver;
let hub: ConsoleHub;
let access: Access;
let server: SshServer;
let hostKeys: readonly HostKey[];
let logged: string[];
const clients: SshClient[] = [];

const note =
  (level: string) =>
  (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    // These values change with each run, so tests cannot compare them.
    const rest = Object.entries(fields).filter(([name]) => name !== 'session' && name !== 'address');
    logged.push(`${level} ${message} ${JSON.stringify(Object.fromEntries(rest))}`);
  };
const log = { info: note('info'), warn: note('warn'), error: note('error'), debug: () => undefined };

/** Starts the SSH server. @param hasAccounts false: there is no password file, so clients need no account. */
async function start({
  hasAccounts = true,
  ...options
}: Partial<SshServerOptions> & { hasAccounts?: boolean } = {}): Promise<void> {
  const file = path.join(folder, 'users');
  access = openAccess({
    authFile: hasAccounts ? file : null,
    state: stateInMemory({
      ...initialAccessState,
      accounts: [
        { user: 'olga', roleId: 'Operator', enabled: true, passwordChangeRequired: false },
        { user: 'rick', roleId: 'ReadOnly', enabled: true, passwordChangeRequired: false },
        { user: 'nora', roleId: 'Administrator', enabled: true, passwordChangeRequired: true },
        { user: 'dora', roleId: 'Administrator', enabled: false, passwordChangeRequired: false },
      ],
    }),
    log,
    login: unpaced,
  });
  hub = createConsoleHub({ driver, log, retryMs: 20 });
  server = await openSshServer({
    ip: '127.0.0.1',
    port: 0,
    hostKeys,
    access,
    hub,
    driver,
    machineAt: () => null,
    log,
    ...options,
  });
}

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-console-'));
  const file = path.join(folder, 'users');
  writeFileSync(file, '');
  for (const [user, password] of Object.entries(USERS))
    execFileSync('htpasswd', ['-bB', '-C', '4', file, user, password], { stdio: 'pipe' });
  hostKeys = openHostKeys(folder);
  driver = new FakeDriver();
  logged = [];
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.dispose()));
  await server.close();
  hub.close();
  await driver.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns a hub whose only console is always open, and all of whose clients may type. */
function hubOf(
  listeners: Set<ConsoleListener>,
  write: (...input: Parameters<ConsoleSeat['write']>) => void,
): ConsoleHub {
  const attach = (_uuid: string, listener: ConsoleListener) => {
    listeners.add(listener);
    queueMicrotask(() => listener.state('open', 'connected'));
    return { detach: () => void listeners.delete(listener) };
  };
  return {
    attach,
    seat: (uuid, client) => ({
      ...attach(uuid, client),
      takeKeyboard: () => undefined,
      releaseKeyboard: () => undefined,
      write(...input) {
        write(...input);
        return true;
      },
      sendBreak: () => Promise.resolve(true),
    }),
    close: () => undefined,
  };
}

function ssh(user: string, options: Omit<SshOptions, 'user' | 'port'> = {}): SshClient {
  const client = new SshClient({ user, port: server.port, ...options });
  clients.push(client);
  return client;
}

/** Waits for a value, because the server sees an action of the client a moment later. Fails after two minutes. */
async function becomes<T>(look: () => T, wanted: T): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (look() !== wanted && Date.now() < deadline) await delay(10);
  expect(look()).toBe(wanted);
}

/** Options of ssh: with a terminal, and without OpenSSH's own escapes. */
const terminal = ['-tt', '-e', 'none'];
const admin = { answers: [USERS.admin] };
const greeting = 'To leave: ~. at the start of a line, or Ctrl-] and a dot. Help: ~?';

describe('selecting a console', () => {
  it('works with account and machine in the user name; the client asks for the password', async () => {
    await start();
    const client = ssh('admin/node-2', { ...admin, options: terminal });
    await client.waitFor(`Connected to node-2. ${greeting}]\r\n`);
    client.type('hi\r');
    await client.waitFor('hi\r\nnode-2 login: ');
    client.type('~.');
    expect(await client.exit()).toBe(0);
    expect(client.stdout.endsWith('\r\n[left the console of node-2]\r\n')).toBe(true);
    expect(logged).toEqual([
      'info session created {"type":"HostConsole","account":"admin"}',
      'info console opened {"machine":"node-2","account":"admin"}',
      'info console closed {"machine":"node-2","account":"admin","reason":"left the console of node-2"}',
    ]);
    await becomes(() => access.sessions.list().length, 0);
  });

  it('works with the machine as the user name; the client asks for account and password', async () => {
    await start();
    const { uuid } = await driver.getSystem('node-2');
    for (const user of ['node-2', uuid.toUpperCase()]) {
      const client = ssh(user, { answers: ['admin', USERS.admin], options: ['-T'] });
      await client.waitFor('Connected to node-2');
      client.type('~.');
      expect(await client.exit()).toBe(0);
    }
  });

  it('works with the account as the user name and the machine as the command', async () => {
    await start();
    for (const method of ['keyboard-interactive', 'password']) {
      const options = ['-T', '-o', `PreferredAuthentications=${method}`];
      const client = ssh('admin', { ...admin, options, command: ['node-2'] });
      await client.waitFor('Connected to node-2');
      client.type('\x1d.');
      expect(await client.exit()).toBe(0);
    }
  });

  it('lists the machines if the client names none, and refuses an unknown machine', async () => {
    await start();
    const lost = ssh('admin', admin);
    expect(await lost.exit()).toBe(1);
    expect([lost.stdout, lost.stderr]).toEqual([
      '',
      'which console? ssh admin@HOST NAME, or ssh admin/NAME@HOST, with the name or the UUID ' +
        'of a machine:\nnode-1\nnode-2\nnode-3\n',
    ]);
    const wrong = ssh('admin/node-9', admin);
    expect([await wrong.exit(), wrong.stderr]).toEqual([1, 'there is no machine "node-9"\n']);
  });

  it('gives no access to files, commands or forwarding, and ignores requests for variables', async () => {
    await start();
    const copy = ssh('admin/node-2', { ...admin, command: ['scp', '-t', '/tmp'] });
    expect([await copy.exit(), copy.stderr]).toEqual([1, 'this is a serial console: it does not accept files\n']);
    const command = ssh('admin/node-2', { ...admin, command: ['reboot'] });
    expect([await command.exit(), command.stderr]).toEqual([
      1,
      'this is the serial console of node-2: it runs no commands\n',
    ]);
    const sftp = ssh('admin/node-2', { ...admin, options: ['-s'], command: ['sftp'] });
    expect([await sftp.exit(), sftp.stderr]).toEqual([255, 'subsystem request failed on channel 0\r\n']);
    const forward = ssh('admin/node-2', {
      ...admin,
      options: ['-N', '-o', 'ExitOnForwardFailure=yes', '-R', '0:127.0.0.1:1'],
    });
    expect(await forward.exit()).toBe(255);
    const through = ssh('admin/node-2', { ...admin, options: ['-W', '127.0.0.1:1'] });
    expect(await through.exit()).toBe(255);
    const greedy = ssh('admin/node-2', { ...admin, options: ['-T', '-A', '-X', '-o', 'SetEnv=A=B'] });
    await greedy.waitFor('Connected to node-2');
  });

  it("needs no name at a machine's own address, and finds no other machine there", async () => {
    const { uuid } = await driver.getSystem('node-2');
    await start({ machineAt: (address) => (address === '127.0.0.1' ? uuid : null) });
    const client = ssh('admin', { ...admin, options: ['-T'] });
    await client.waitFor('Connected to node-2');
    const other = ssh('admin/node-1', admin);
    expect([await other.exit(), other.stderr]).toEqual([1, 'there is no machine "node-1"\n']);
  });

  it('needs no account without a password file', async () => {
    await start({ hasAccounts: false });
    const client = ssh('node-2', { options: ['-T'] });
    await client.waitFor(`Connected to node-2. ${greeting}\n`);
    expect(access.sessions.list()).toEqual([expect.objectContaining({ user: null, type: 'HostConsole' })]);
    const other = ssh('whoever', { command: ['node-2'] });
    await other.waitFor('Connected to node-2');
  });
});

describe('access to a console', () => {
  it('is refused for a wrong password, a password that must be changed, an unknown user and a disabled account', async () => {
    await start();
    const asked = ['-o', 'PreferredAuthentications=keyboard-interactive', '-o', 'LogLevel=INFO'];
    const once = [...asked, '-o', 'NumberOfPasswordPrompts=1'];
    const wrong = ssh('admin/node-2', { answers: ['wrong', 'wrong again'], options: asked });
    expect(await wrong.exit()).toBe(255);
    const nobody = ssh('node-2', { answers: ['secret typed as a name', USERS.admin], options: once });
    expect(await nobody.exit()).toBe(255);
    const change = ssh('nora/node-2', { answers: [USERS.nora], options: once });
    expect(await change.exit()).toBe(255);
    expect(change.output).toContain('The password of this account has to be changed first');
    const plain = ['-o', 'PreferredAuthentications=password'];
    expect(await ssh('nora/node-2', { answers: [USERS.nora], options: plain }).exit()).toBe(255);
    expect(await ssh('dora/node-2', { answers: [USERS.dora], options: once }).exit()).toBe(255);
    expect(logged.filter((line) => line.startsWith('warn'))).toEqual([
      'warn login to a console refused {"account":"admin","reason":"wrong password"}',
      'warn login to a console refused {"account":"admin","reason":"wrong password"}',
      'warn login to a console refused {"account":null,"reason":"unknown user"}',
      'warn login to a console refused {"account":"nora","reason":"the password has to be changed first"}',
      'warn login to a console refused {"account":"nora","reason":"the password has to be changed first"}',
      'warn login to a console refused {"account":"dora","reason":"the account is disabled"}',
    ]);
    expect(access.sessions.list()).toEqual([]);
  });

  it('needs the privilege ConfigureComponents, and ends when the account loses it', async () => {
    await start();
    const operator = ssh('olga/node-2', { answers: [USERS.olga], options: terminal });
    await operator.waitFor('Connected to node-2');
    const reader = ssh('rick/node-2', { answers: [USERS.rick], options: ['-T'] });
    expect([await reader.exit(), reader.stderr]).toEqual([1, 'the role of rick has no privilege for consoles\n']);
    await access.accounts?.change('olga', { roleId: 'ReadOnly' });
    await operator.waitFor('[the role of the account has no privilege for consoles anymore]');
    expect(await operator.exit()).toBe(1);
  });

  it('ends when its session is deleted or its account is disabled', async () => {
    await start();
    const ended = ssh('olga/node-2', { answers: [USERS.olga], options: ['-T'] });
    const closed = ssh('nick/node-2', { answers: [USERS.nick], options: ['-T'] });
    await ended.waitFor('Connected');
    await closed.waitFor('Connected');
    const session = access.sessions.list().find(({ user }) => user === 'olga');
    expect(session).toMatchObject({ type: 'HostConsole', address: '127.0.0.1' });
    await access.sessions.end(session?.id ?? '');
    await ended.waitFor('the session was ended\n');
    expect(await ended.exit()).toBe(1);
    await access.accounts?.change('nick', { enabled: false });
    await closed.waitFor('the session was ended\n');
    expect(await closed.exit()).toBe(1);
  });
});

describe('a console', () => {
  it('waits for a machine that is off, continues with its next start, and ends when the machine is removed', async () => {
    await start();
    const client = ssh('admin/node-1', { ...admin, options: terminal });
    await client.waitFor('[node-1: the machine is off; waiting for the console. To leave');
    await driver.power('node-1', 'create');
    await client.waitFor('[connected to node-1]');
    await client.waitFor('Rackless simulated firmware');
    const leave = driver.console.seize('node-1');
    await client.waitFor('[node-1: another program uses the console]');
    leave();
    await client.waitFor('[connected to node-1]');
    await driver.power('node-1', 'destroy');
    await client.waitFor('[node-1: the machine is off]');
    driver.undefine('node-1');
    await client.waitFor('[node-1: there is no such machine]');
    expect(await client.exit()).toBe(1);
  });

  it('is shared by clients, and by several channels of one connection', async () => {
    await start();
    const control = path.join(folder, 'control');
    const first = ssh('admin/node-2', { ...admin, options: [...terminal, '-M', '-S', control] });
    await first.waitFor('Connected');
    const second = ssh('admin/node-2', { options: [...terminal, '-S', control] });
    await second.waitFor('Connected');
    const third = ssh('olga', { answers: [USERS.olga], options: ['-T'], command: ['node-2'] });
    await third.waitFor('Connected');
    third.type('who\n');
    for (const client of [first, second, third]) await client.waitFor('who\r\nnode-2 login: ');
    second.type('~.');
    expect(await second.exit()).toBe(0);
    third.endOfInput();
    expect(await third.exit()).toBe(0);
    first.type('\r');
    await first.waitFor('\r\nnode-2 login: ');
    expect(access.sessions.list()).toHaveLength(1);
  });

  it('gives the keyboard to one client at a time, which can hand it over', async () => {
    await start();
    const writer = ssh('admin/node-2', { ...admin, options: terminal });
    await writer.waitFor('Connected');
    writer.type('first\r');
    await writer.waitFor('first\r\nnode-2 login: ');
    const other = ssh('olga/node-2', { answers: [USERS.olga], options: terminal });
    await other.waitFor('Connected');
    other.type('lost\r');
    await other.waitFor('[admin at 127.0.0.1 has the keyboard. To ask for it: ~T or Ctrl-] T]');
    other.type('\x1dT');
    await other.waitFor('[asked admin at 127.0.0.1 for the keyboard]');
    await writer.waitFor(
      '[olga at 127.0.0.1 asks for the keyboard, and gets it in 10 s. To hand it over: ~G or Ctrl-] G]',
    );
    writer.type('\x1dG');
    await other.waitFor('[you have the keyboard]');
    await writer.waitFor('[olga at 127.0.0.1 has the keyboard now]');
    other.type('second\r');
    await writer.waitFor('second\r\nnode-2 login: ');
    expect(writer.output).not.toContain('lost');
  });

  it('delays piped input until the client gets the keyboard', async () => {
    await start({ hub: createConsoleHub({ driver, log, keyboard: { idleMs: 60_000, handOverMs: 50 } }) });
    const writer = ssh('admin/node-2', { ...admin, options: terminal });
    await writer.waitFor('Connected');
    writer.type('half ');
    await writer.waitFor('half ');
    const script = ssh('olga/node-2', { answers: [USERS.olga], options: ['-T'] });
    await script.waitFor('Connected');
    script.type('a line\nanother\n~');
    script.endOfInput();
    expect(await script.exit()).toBe(0);
    await writer.waitFor('[olga at 127.0.0.1 has the keyboard now]');
    await writer.waitFor('a line\r\nnode-2 login: another\r\nnode-2 login: ~');
  });

  it('has escapes for help, a break and a tilde', async () => {
    await start();
    const client = ssh('admin/node-2', { ...admin, options: terminal });
    await client.waitFor('Connected');
    client.type('~?');
    await client.waitFor('[at the start of a line:\r\n ~.  leaves the console\r\n');
    client.type('~B');
    await client.waitFor('sysrq: HELP');
    await client.waitFor('[break sent]');
    client.type('~~x\x1d\x1d~.\r');
    await client.waitFor('~x\x1d~.\r\nnode-2 login: ');
    client.type('half a line\x1d.');
    expect(await client.exit()).toBe(0);
  });

  it("closes after OpenSSH's own ~. and after a client is killed", async () => {
    await start();
    // With a terminal, ssh itself acts on the escape.
    const client = ssh('admin/node-2', { ...admin, options: ['-tt'] });
    await client.waitFor('Connected');
    client.type('\r~.');
    expect(await client.exit()).toBe(255);
    const killed = ssh('admin/node-2', { ...admin, options: terminal });
    await killed.waitFor('Connected');
    await killed.dispose();
    await becomes(() => logged.filter((line) => line.includes('the client has disconnected')).length, 2);
    await becomes(() => access.sessions.list().length, 0);
    // The port is free again.
    await expect(driver.console.open('node-2')).resolves.toBeDefined();
  });

  it('accepts lines from a pipe, reports lines as lost if the machine is off, and shows output to silent clients', async () => {
    await start();
    const asking = ssh('admin/node-2', { ...admin, options: ['-T'] });
    asking.type('hello\nworld\r\n');
    asking.endOfInput();
    expect(await asking.exit()).toBe(0);
    expect(asking.stdout).toBe('hello\r\nnode-2 login: world\r\nnode-2 login: ');
    const lost = ssh('admin/node-1', { ...admin, options: ['-T'] });
    lost.type('hello\n');
    lost.endOfInput();
    expect(await lost.exit()).toBe(1);
    expect(lost.stderr.split('\n')).toEqual([
      expect.stringMatching(/^node-1: the machine is off; waiting for the console\. To leave/),
      '6 bytes of input were lost: the console was not open',
      '',
    ]);
    const watching = ssh('admin/node-2', { ...admin, options: ['-n'] });
    await watching.waitFor('Connected');
    await driver.power('node-2', 'reset');
    await watching.waitFor('Booting from hard disk');
    await watching.dispose();
  });

  it('drops output only for a slow client, and tells this client how many bytes are missing', async () => {
    const listeners = new Set<ConsoleListener>();
    await start({ hub: hubOf(listeners, () => undefined) });
    const slow = ssh('admin/node-2', { ...admin, options: ['-T'] });
    const quick = ssh('admin/node-2', { ...admin, options: ['-T'] });
    await slow.waitFor('Connected');
    await quick.waitFor('Connected');
    slow.stopReading();
    const line = Buffer.from(`${'x'.repeat(1023)}\n`);
    let sent = 0;
    for (; sent < 8 * 1024; sent += 1) {
      for (const listener of listeners) listener.data(line);
      // Gives the quick client time to read.
      if (sent % 64 === 0) await becomes(() => quick.stdout.length >= (sent - 512) * 1024, true);
    }
    await becomes(() => quick.stdout.length, sent * 1024);
    slow.resumeReading();
    await slow.waitFor(/\d+ bytes are missing here: this connection is too slow/);
    const missing = Number(/(\d+) bytes are missing/.exec(slow.stderr)?.[1]);
    expect(missing).toBeGreaterThan(1024 * 1024);
    await becomes(() => slow.stdout.length + missing, sent * 1024);
    for (const listener of listeners) listener.data(Buffer.from('goes on\n'));
    await slow.waitFor('goes on');
  });

  it('delays a client that types faster than the guest reads, and loses no input', async () => {
    const reads: (() => void)[] = [];
    let [typed, waiting, max] = [0, 0, 0];
    await start({
      hub: hubOf(new Set(), (bytes, done) => {
        typed += bytes.length;
        waiting += bytes.length;
        max = Math.max(max, waiting);
        reads.push(() => {
          waiting -= bytes.length;
          done?.();
        });
      }),
    });
    const client = ssh('admin/node-2', { ...admin, options: ['-T'] });
    await client.waitFor('Connected');
    const paste = 1024 * 1024;
    client.type('y'.repeat(paste));
    client.endOfInput();
    // The guest reads one piece at a time. Until all input has arrived, it reads only while the
    // limit for waiting input is exceeded.
    const drain = setInterval(() => {
      if (waiting > 64 * 1024 || typed === paste) reads.shift()?.();
    }, 1);
    await becomes(() => typed === paste && waiting === 0, true);
    clearInterval(drain);
    expect(max).toBeLessThan(256 * 1024);
    expect(await client.exit()).toBe(0);
  });
});

describe('the SSH server', () => {
  it('limits open consoles, and connections of a network that have not logged in', async () => {
    await start({ limits: { consoles: 1, unauthenticatedPerNetwork: 2 } });
    const only = ssh('admin/node-2', { ...admin, options: ['-T'] });
    await only.waitFor('Connected');
    const other = ssh('admin/node-2', { ...admin, options: ['-T'] });
    expect([await other.exit(), other.stderr]).toEqual([1, 'too many consoles are open\n']);
    // Three connections do not log in. The limit is two, so the server closes one of them.
    const silent = [1, 2, 3].map(() => connect(server.port, '127.0.0.1').resume());
    await Promise.race(silent.map((socket) => once(socket, 'close')));
    expect(silent.filter(({ closed }) => closed)).toHaveLength(1);
    for (const socket of silent) socket.destroy();
    only.type('~.');
    expect(await only.exit()).toBe(0);
    const next = ssh('admin/node-2', { ...admin, options: ['-T'] });
    await next.waitFor('Connected');
  });

  it('disconnects a client that does not log in', async () => {
    await start({ limits: { loginMs: 50 } });
    await once(connect(server.port, '127.0.0.1').resume(), 'close');
  });

  it('closes the oldest unauthenticated connection of the network that has most of them, in favor of a new client', async () => {
    await start({ limits: { unauthenticated: 4 } });
    const connectFrom = async (localAddress: string) => {
      const socket = connect({ port: server.port, host: '127.0.0.1', localAddress });
      // After the greeting the server has accepted the connection.
      await once(socket, 'data');
      return socket.resume();
    };
    const alone = await connectFrom('127.0.0.3');
    const crowd = [await connectFrom('127.0.0.2'), await connectFrom('127.0.0.2'), await connectFrom('127.0.0.2')];
    const oldest = once(crowd[0] ?? alone, 'close');
    const client = ssh('admin/node-2', { ...admin, options: ['-T'] });
    await client.waitFor('Connected to node-2');
    await oldest;
    expect([alone, ...crowd].map(({ closed }) => closed)).toEqual([false, true, false, false]);
    // With `next`, both networks have two connections. So the server closes a new connection at once.
    const next = await connectFrom('127.0.0.3');
    const full = connect({ port: server.port, host: '127.0.0.1', localAddress: '127.0.0.2' }).resume();
    await once(full, 'close');
    for (const socket of [alone, next, ...crowd]) socket.destroy();
  });

  it('sends a message when the service ends', async () => {
    await start();
    const client = ssh('admin/node-2', { ...admin, options: ['-T'] });
    await client.waitFor('Connected');
    await server.close();
    await client.waitFor('the service ends\n');
    expect(await client.exit()).toBe(1);
    // afterEach closes this server.
    await start();
  });
});

describe('the host key', () => {
  it('is created once for each type, readable only for its owner, and accepted by clients', async () => {
    await start();
    expect(openHostKeys(folder)).toEqual(hostKeys);
    expect(hostKeys.map(({ type }) => type)).toEqual(['ssh-ed25519', 'ecdsa-sha2-nistp256']);
    for (const file of ['ssh_host_ed25519_key', 'ssh_host_ecdsa_key'])
      expect(statSync(path.join(folder, file)).mode & 0o777).toBe(0o600);
    const printed = execFileSync('ssh-keygen', ['-l', '-f', path.join(folder, 'ssh_host_ed25519_key')], {
      encoding: 'utf8',
    });
    expect(printed.split(' ')[1]).toBe(hostKeys[0]?.fingerprint);
    for (const type of ['ssh-ed25519', 'ecdsa-sha2-nistp256']) {
      const options = ['-T', '-o', `HostKeyAlgorithms=${type}`];
      await ssh('admin/node-2', { ...admin, options }).waitFor('Connected');
    }
  });

  it('is not replaced if its file is damaged', async () => {
    await start();
    const file = path.join(folder, 'ssh_host_ed25519_key');
    writeFileSync(file, 'no key\n');
    expect(() => openHostKeys(folder)).toThrow(
      `${file} is damaged: correct it, or move it away to have a new key made`,
    );
  });
});
