import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { daemonFixture, FAKE } from './fixture.js';
import { run, waitFor } from './process.js';

const execute = promisify(execFile);

const { at, config, start } = daemonFixture();

async function getJson(url: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(url);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('the command line', () => {
  it('prints help and version, and rejects unknown options', async () => {
    const manifest = JSON.parse(readFileSync(path.join(import.meta.dirname, '../../package.json'), 'utf8')) as {
      version: string;
    };
    expect(await run(['--version'])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });
    const help = await run(['--help']);
    expect(help.code).toBe(0);
    for (const flag of [
      '--config',
      '-i, --interface',
      '-p, --port',
      '--ssl-certificate',
      '--ssl-key',
      '--libvirt-uri',
      '--os-cloud',
      '--fake',
      '--feature-set',
      '--dmtf-strict',
      '--debug',
      'check',
      'htpasswd',
    ])
      expect(help.stdout).toContain(flag);
    expect(await run(['--bogus'])).toEqual({ code: 64, stdout: '', stderr: "error: unknown option '--bogus'\n" });
    expect((await run(['bogus'])).code).toBe(64);
    expect((await run(['--port'])).code).toBe(64);
  });

  it.each([
    ['a missing file', ['--config', 'none.conf'], 'none.conf: the configuration cannot be read: there is no such file'],
    [
      'a wrong flag',
      [...FAKE, '--port', 'abc'],
      "command line: --port must be an integer from 0 to 65535, not the string 'abc'",
    ],
    [
      'an OpenStack cloud without a URL',
      ['-i', '127.0.0.1', '--os-cloud', 'envvars'],
      "--os-cloud: EMULATOR_OS_CLOUD cannot be used: cloud 'envvars': OS_AUTH_URL is not set",
    ],
    [
      'a certificate without a key',
      [...FAKE, '--ssl-certificate', 'cert.pem'],
      '--ssl-certificate: EMULATOR_SSL_CERT is set and EMULATOR_SSL_KEY is not: HTTPS needs both',
    ],
    [
      'an invalid address of libvirt',
      ['-i', '127.0.0.1', '--libvirt-uri', 'nonsense'],
      '--libvirt-uri: EMULATOR_LIBVIRT_URI cannot be used: reading the connection URI "nonsense": a libvirt ' +
        'URI looks like qemu:///system',
    ],
  ])('prevents the start with one line and exit code 78 for %s', async (_, args, line) => {
    expect(await run(args, { cwd: at('') })).toEqual({ code: 78, stdout: '', stderr: `${line}\n` });
  });
});

describe('a state folder', () => {
  it('with a lock of another user prevents the start, and the error names the lock', async () => {
    const lock = path.join(at(''), 'lock');
    const holder = createServer().listen(lock);
    await once(holder, 'listening');
    chmodSync(lock, 0);
    chmodSync(at(''), 0o777);
    // Permissions do not restrict root, so root runs the daemon as the account nobody.
    const asNobody = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
    const { code, stderr } = await run([...FAKE], { through: asNobody, env: { EMULATOR_STATE_DIR: at('') } });
    holder.close();
    expect([code, stderr]).toEqual([
      1,
      `environment EMULATOR_STATE_DIR: permission denied to connect to ${lock}, which belongs to another ` +
        `user. If no daemon uses the folder, remove this file\n`,
    ]);
  });
});

describe('the configuration file', () => {
  it.each([
    ["EMULATOR_LISTEN_PORT = 'http'", "EMULATOR_LISTEN_PORT must be an integer from 0 to 65535, not the string 'http'"],
    ["SUSHY_EMULATOR_IRONIC_CLOUD = 'lab'", 'EMULATOR_IRONIC_CLOUD is set, and there is no Ironic backend yet'],
    ["EMULATOR_SSL_KEY = 'k'", 'EMULATOR_SSL_KEY is set and EMULATOR_SSL_CERT is not: HTTPS needs both'],
    [
      "EMULATOR_AUTH_FILE = '/none'",
      'EMULATOR_AUTH_FILE cannot be used: /none: the password file cannot be read: there is no such file',
    ],
  ])('prevents the start with file and line, and without a stack: %s', async (text, sentence) => {
    const file = config(`# one line before it\n${text}\n`);
    expect(await run(['--config', file, '--fake', '-i', '127.0.0.1'])).toEqual({
      code: 78,
      stdout: '',
      stderr: `${file}:2: ${sentence}\n`,
    });
  });

  it('can be named in the environment, and its unknown settings are warnings', async () => {
    const file = config(
      "EMULATOR_LISTEN_IP = '127.0.0.1'\nEMULATOR_LISTEN_PROT = 1\n" +
        'SUSHY_EMULATOR_LISTEN_PORT = 0\nSUSHY_EMULATOR_FAKE_DRIVER = True\n',
    );
    const daemon = start([], { env: { SUSHY_EMULATOR_CONFIG: file } });
    const address = await daemon.address();
    expect((await getJson(`${address}/redfish/v1`)).status).toBe(200);
    expect(daemon.messages('warn')).toEqual([
      `${file}:2: EMULATOR_LISTEN_PROT is not a setting; the nearest known name is EMULATOR_LISTEN_PORT`,
    ]);
  });

  it('is never executed', async () => {
    const trap = at('trap');
    const file = config(
      `import os\nEMULATOR_LISTEN_PORT = open('${trap}', 'w')\n__import__('os').system('touch ${trap}')\n`,
    );
    const { code, stderr } = await run(['--config', file]);
    expect(code).toBe(78);
    expect(stderr.split('\n').map((line) => line.replace(file, 'bmc.conf').split(';')[0])).toEqual([
      "bmc.conf:2: 'open(…' is Python code, which is not run",
      "bmc.conf:3: '=' and a value were expected after '__import__', not '('",
      '',
    ]);
    expect(() => readFileSync(trap)).toThrow('ENOENT');
  });
});

describe('bmc-daemon check', () => {
  it('prints the effective settings with the origin of each', async () => {
    const file = config("EMULATOR_LISTEN_IP = '127.0.0.1'\nEMULATOR_DMTF_STRICT = True\n");
    const { code, stdout, stderr } = await run(['check', '--config', file, '-p', '9000', '--fake'], {
      env: { EMULATOR_STORAGE_POOL: 'images' },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n').map((line) => line.replace(/ +# /, ' # '));
    expect(lines).toEqual(
      expect.arrayContaining([
        `EMULATOR_LISTEN_IP = '127.0.0.1' # ${file}:1`,
        'EMULATOR_LISTEN_PORT = 9000 # --port',
        `EMULATOR_DMTF_STRICT = True # ${file}:2`,
        'EMULATOR_FAKE_DRIVER = True # --fake',
        "EMULATOR_STORAGE_POOL = 'images' # environment EMULATOR_STORAGE_POOL",
        "EMULATOR_LIBVIRT_URI = 'qemu:///system' # default",
      ]),
    );
  });

  it('accepts flags before its name too', async () => {
    const file = config('EMULATOR_LISTEN_PORT = 9001\n');
    const { stdout } = await run(['--config', file, '--fake', 'check', '-i', '127.0.0.1']);
    expect(stdout).toMatch(/^EMULATOR_LISTEN_PORT = 9001 /m);
    expect(stdout).toMatch(/^EMULATOR_FAKE_DRIVER = True /m);
    expect(stdout).toMatch(/^EMULATOR_LISTEN_IP = '127.0.0.1' /m);
  });

  it.each([
    ['check', ['check'], 1],
    ['the start', [], 78],
  ])('reports all faults at once, as the start does: %s has its own exit code', async (_, command, expected) => {
    const file = config("EMULATOR_LISTEN_PORT = 'x'\nEMULATOR_OS_CLOUD = 'envvars'\nEMULATOR_FOO = 1\n");
    const { code, stdout, stderr } = await run([...command, '--config', file]);
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
    expect(stderr.replaceAll(file, 'bmc.conf').split('\n')).toEqual([
      'warning: bmc.conf:3: EMULATOR_FOO is not a setting',
      'warning: no EMULATOR_AUTH_FILE: every client that reaches 0.0.0.0 may switch every machine on and off',
      "bmc.conf:1: EMULATOR_LISTEN_PORT must be an integer from 0 to 65535, not the string 'x'",
      "bmc.conf:2: EMULATOR_OS_CLOUD cannot be used: cloud 'envvars': OS_AUTH_URL is not set",
      '',
    ]);
  });
});

describe('bmc-daemon check --strict', () => {
  const misspelled = "EMULATOR_LISTEN_IP = '127.0.0.1'\nEMULATOR_LISTEN_PROT = 1\n";
  const fault = ':2: EMULATOR_LISTEN_PROT is not a setting; the nearest known name is EMULATOR_LISTEN_PORT\n';

  it('rejects an unknown setting of the file with exit code 1; without --strict it is a warning', async () => {
    const file = config(misspelled);
    expect(await run(['check', '--strict', '--config', file])).toEqual({
      code: 1,
      stdout: '',
      stderr: `${file}${fault}`,
    });
    const { code, stderr } = await run(['check', '--config', file]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: `warning: ${file}${fault}` });
  });

  it('rejects an unknown setting of the environment', async () => {
    const { code, stderr } = await run(['check', '--strict', ...FAKE], { env: { EMULATOR_LISTEN_PROT: '1' } });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'environment: EMULATOR_LISTEN_PROT is not a setting; the nearest known name is EMULATOR_LISTEN_PORT\n',
    });
  });

  it("accepts sushy-emulator's settings, and prints nothing with --quiet", async () => {
    const file = config(
      "SUSHY_EMULATOR_LISTEN_IP = ''\nSUSHY_EMULATOR_FAKE_DRIVER = True\nSUSHY_EMULATOR_IGNORE_BOOT_DEVICE = False\n",
    );
    expect(await run(['check', '--strict', '--quiet', '--config', file])).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});

describe('a daemon in the journal of systemd', () => {
  // systemd sets JOURNAL_STREAM to the device and inode of the journal's stream. This shell sets it
  // to those of the pipe that the test reads.
  const journalAt = (descriptor: 1 | 2) => [
    'sh',
    '-c',
    `JOURNAL_STREAM=$(stat -L -c %d:%i /proc/$$/fd/${descriptor}) exec "$@"`,
    'sh',
  ];

  it('prints each line of the log with its priority at the beginning', async () => {
    const file = config('EMULATOR_LISTEN_PROT = 1\n');
    const daemon = start(['--config', file, ...FAKE], { through: journalAt(1) });
    await waitFor(
      () => (daemon.stdout.includes('serving fake') ? true : undefined),
      () => daemon.stdout,
    );
    daemon.signal('SIGTERM');
    await daemon.waitForExit();
    const priorities = daemon.stdout
      .trimEnd()
      .split('\n')
      .map((line) => /^<(\d)>\{"time":"[^"]*","level":"(\w+)",/.exec(line)?.slice(1).join(' '));
    expect(priorities).toContain('4 warn');
    expect(new Set(priorities)).toEqual(new Set(['4 warn', '6 info']));
  });

  it('prints each fault of a configuration with its priority at the beginning', async () => {
    const file = config('EMULATOR_LISTEN_PROT = 1\nEMULATOR_LISTEN_IP = 5\n');
    const { code, stderr } = await run(['--config', file, '--fake'], { through: journalAt(2) });
    expect(code).toBe(78);
    expect(
      stderr
        .trimEnd()
        .split('\n')
        .map((line) => line.slice(0, 3)),
    ).toEqual(['<4>', '<3>']);
  });

  it('adds no priority to lines on a stream that is not the journal', async () => {
    const { stderr } = await run(['--config', config('EMULATOR_LISTEN_IP = 5\n'), '--fake'], { through: journalAt(1) });
    expect(stderr).not.toMatch(/^<\d>/);
  });
});

describe('the running daemon', () => {
  it('serves pages, health, metrics and Redfish on one port, logs requests and ends with 0 on SIGTERM', async () => {
    const daemon = start(FAKE);
    const address = await daemon.address();
    expect((await getJson(`${address}/redfish/v1/Systems/`)).body['Members@odata.count']).toBeGreaterThan(0);
    for (const page of ['/', '/ui/plain', '/healthz', '/metrics'])
      expect((await fetch(`${address}${page}`)).status).toBe(200);
    await daemon.waitForLog(/^request$/, 4);
    const [line] = daemon.lines.filter(({ message }) => message === 'request');
    expect(line).toMatchObject({ user: null, method: 'GET', path: '/redfish/v1/Systems/', status: 200 });
    daemon.signal('SIGTERM');
    expect(await daemon.waitForExit()).toMatchObject({ code: 0, stderr: '' });
    expect(daemon.messages().at(-1)).toBe('SIGTERM: stopping');
  });

  it('ends with 0 on SIGINT too, even with an open keep-alive connection', async () => {
    const daemon = start(FAKE);
    await getJson(`${await daemon.address()}/redfish/v1`);
    daemon.signal('SIGINT');
    expect((await daemon.waitForExit()).code).toBe(0);
  });

  it('reports in one line that the port is in use, with the line of the setting', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const file = config(`EMULATOR_LISTEN_IP = '127.0.0.1'\nEMULATOR_LISTEN_PORT = ${port}\n`);
    expect(await run(['--config', file, '--fake'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `${file}:2: listening at 127.0.0.1 port ${port}: the port is in use\n`,
    });
    other.close();
    await once(other, 'close');
  });

  it('ends with exit code 1 if another daemon uses its state folder, but starts if the other daemon ends soon', async () => {
    const first = start(FAKE);
    const address = await first.address();
    const second = start(FAKE);
    await second.waitForLog(/^waiting for another daemon/);
    expect(await second.waitForExit()).toMatchObject({
      code: 1,
      stderr:
        `default: ${at('state')} is in use by another daemon (process ${first.pid}): each daemon needs ` +
        `its own EMULATOR_STATE_DIR\n`,
    });
    expect((await getJson(`${address}/redfish/v1`)).status).toBe(200);
    const third = start(FAKE);
    await third.waitForLog(/^waiting for another daemon/);
    first.signal('SIGKILL');
    await third.address();
    const fourth = start(FAKE);
    await fourth.waitForLog(/^waiting for another daemon/);
    third.signal('SIGTERM');
    await fourth.address();
    fourth.signal('SIGTERM');
    expect((await fourth.waitForExit()).code).toBe(0);
    expect(existsSync(at('state/lock'))).toBe(false);
  });

  it('ends with exit code 1 if the shared store is not reachable, so that systemd starts it again', async () => {
    const env = { EMULATOR_SHARED_STORE: 'redis://127.0.0.1:1', EMULATOR_STATE_DIR: at('state') };
    const { code, stderr } = await run([...FAKE], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining('connecting to redis://127.0.0.1:1: ')]);
  });

  it('warns about a public address without authentication', async () => {
    const daemon = start(['--fake', '-i', '0.0.0.0', '-p', '0']);
    await daemon.address();
    expect(daemon.messages('warn')).toEqual([
      'no EMULATOR_AUTH_FILE: every client that reaches 0.0.0.0 may switch every machine on and off',
    ]);
  });

  it('serves only what the feature set and the list of machines permit', async () => {
    const file = config("EMULATOR_ALLOWED_INSTANCES = ['nobody']\n");
    const daemon = start([...FAKE, '--config', file, '--feature-set', 'minimum', '--dmtf-strict']);
    const address = await daemon.address();
    const { body: root } = await getJson(`${address}/redfish/v1`);
    expect(root).not.toHaveProperty('Managers');
    expect(root).not.toHaveProperty(['@Redfish.Copyright']);
    expect((await getJson(`${address}/redfish/v1/Systems`)).body['Members']).toEqual([]);
    expect((await getJson(`${address}/redfish/v1/Managers`)).status).toBe(404);
  });

  it('starts while libvirt is down and answers 503 with Retry-After', async () => {
    const socket = at('libvirt-sock');
    const daemon = start(['-i', '127.0.0.1', '-p', '0', '--libvirt-uri', `qemu:///system?socket=${socket}`]);
    const address = await daemon.address();
    const response = await fetch(`${address}/redfish/v1/Systems`);
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await getJson(`${address}/redfish/v1`)).status).toBe(200);
    daemon.signal('SIGTERM');
    expect((await daemon.waitForExit()).code).toBe(0);
  });

  it('notifies systemd when it is ready, when it reloads, and when it stops', async () => {
    const socket = at('notify');
    const received = at('received');
    // Node has no Unix datagram sockets, so a Python program receives the notifications.
    const listener = execFile('/usr/bin/python3', [
      '-c',
      'import socket,sys\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\ns.bind(sys.argv[1])\n' +
        'while True:\n  d=s.recv(65536)\n  open(sys.argv[2],"ab").write(d+b"\\n--\\n")\n',
      socket,
      received,
    ]);
    try {
      await waitFor(
        () =>
          execute('test', ['-S', socket]).then(
            () => true,
            () => undefined,
          ),
        () => 'the socket is not there',
      );
      const daemon = start(FAKE, { env: { NOTIFY_SOCKET: socket } });
      const address = await daemon.address();
      const untilNotified = (pattern: RegExp) =>
        waitFor(
          () => {
            const text = readIfPresent(received);
            return pattern.test(text) ? text : undefined;
          },
          () => `systemd did not hear ${String(pattern)}: ${readIfPresent(received)}`,
        );
      await untilNotified(new RegExp(`READY=1\\nSTATUS=serving at ${address}`));
      daemon.signal('SIGHUP');
      await untilNotified(/RELOADING=1\nMONOTONIC_USEC=\d+\n[^]*READY=1\n/);
      daemon.signal('SIGTERM');
      await untilNotified(/STOPPING=1/);
      expect((await daemon.waitForExit()).code).toBe(0);
    } finally {
      listener.kill('SIGKILL');
    }
  });
});

function readIfPresent(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // nothing was received yet
  }
}
