/** Examines the ports, files and certificates of this host. The daemon would serve machines in memory. */
import { execFileSync, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { hostname } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { daemonFixture, FAKE } from '../daemon/fixture.js';
import { run } from '../daemon/process.js';
import { createAuthority } from '../support/authority.js';
import { findingsAbout, applyFix, doctor, makeUsers, QUIET } from './doctor.js';

const { at, config, start } = daemonFixture();

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

/** Listens at a free port of loopback until the end of the test. Returns the port. */
async function usedPort(): Promise<number> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port; // The address of a TCP server is an object.
}

const asRoot = process.getuid?.() === 0 ? it : it.skip;
/** The beginning of a command line that runs a command as the account nobody. */
const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];

describe('a host without problems', () => {
  it('gives exit code 0, and the doctor writes nothing', async () => {
    const { code, problems } = await doctor(['--fake'], { env: { STATE_DIRECTORY: at('state') } });
    expect([code, problems]).toEqual([0, 0]);
    expect(existsSync(at('state'))).toBe(false);
  });

  it('gives a summary, without colors because the output is no terminal', async () => {
    const { code, stdout } = await run(['doctor', '--fake', ...QUIET]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/0 problems, \d+ warnings?, \d+ notes?\.\n$/);
    expect(stdout).not.toContain('\x1b');
  });
});

describe('the command line of the doctor', () => {
  it.each([['--timeout', 'soon'], ['--timeout', '0'], ['--colour'], ['extra']])(
    'rejects wrong arguments with exit code 64: %s',
    async (...args) => {
      expect(await run(['doctor', '--fake', ...args])).toMatchObject({ code: 64, stdout: '' });
    },
  );
});

describe('the settings', () => {
  it('are checked as by `bmc-daemon check`, with the line to edit', async () => {
    const file = config("EMULATOR_LISTEN_IP = '127.0.0.1'\nEMULATOR_SSL_CERT = 'server.pem'\nEMULATOR_SSDP = 7\n");
    const report = await doctor(['--fake', '--config', file]);
    expect(report.code).toBe(1);
    expect(findingsAbout(report, 'settings')).toEqual([
      {
        severity: 'problem',
        host: null,
        subject: 'settings',
        message: `The daemon does not start: ${file}:3: EMULATOR_SSDP must be True or False, not 7.`,
        fix: `"\${EDITOR:-vi}" +3 ${file}`,
      },
      expect.objectContaining({
        message: `The daemon does not start: ${file}:2: EMULATOR_SSL_CERT is set and EMULATOR_SSL_KEY is not: HTTPS needs both.`,
        fix: `"\${EDITOR:-vi}" +2 ${file}`,
      }),
    ]);
  });

  it('are a warning if they have no password file and the address is reachable for others', async () => {
    const [finding] = findingsAbout(await doctor(['--fake', '-i', '0.0.0.0'], { cwd: at('') }), 'settings');
    expect(finding).toMatchObject({
      severity: 'warning',
      message: 'No EMULATOR_AUTH_FILE: every client that reaches 0.0.0.0 may switch every machine on and off.',
      fix: 'bmc-daemon htpasswd htpasswd admin && echo \'EMULATOR_AUTH_FILE = "htpasswd"\' >> bmc-daemon.conf',
    });
  });
});

describe('the command for a password file', () => {
  it('creates it in the folder of the configuration file, because the path in this file is relative to the folder', async () => {
    const file = at('open.conf');
    writeFileSync(file, 'EMULATOR_FAKE_DRIVER = True\n');
    const [finding] = findingsAbout(await doctor(['-i', '0.0.0.0', '--config', file], { cwd: '/' }), 'settings');
    expect(finding?.fix).toBe(
      `bmc-daemon htpasswd ${at('htpasswd')} admin && echo 'EMULATOR_AUTH_FILE = "htpasswd"' >> ${file}`,
    );
  });
});

describe('a port of the daemon', () => {
  it('is a problem if another process uses it; the finding names this process and another port', async () => {
    const port = await usedPort();
    const file = config(`EMULATOR_LISTEN_PORT = ${port}\n`);
    const report = await doctor(['--fake', '--config', file, '-p', String(port)]);
    expect(findingsAbout(report, 'port')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        message: expect.stringMatching(
          new RegExp(`^The process ${process.pid} \\(.+\\) listens at port ${port}, so the daemon cannot start\\.$`),
        ),
        fix: `bmc-daemon --port ${port + 1}`,
      }),
    ]);
    expect(report.code).toBe(1);
  });

  it('has an editor as the fix if the configuration names it, and the message contains the new setting', async () => {
    makeUsers(at('users'));
    const port = await usedPort();
    const file = config(`EMULATOR_CONSOLE_SSH_PORT = ${port}\n`);
    const report = await doctor(['--fake', '--config', file], { env: { EMULATOR_AUTH_FILE: at('users') } });
    // Interactive zsh accepts no comments, so the command has none.
    expect(findingsAbout(report, 'port')).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(new RegExp(`\\. Set EMULATOR_CONSOLE_SSH_PORT = ${port + 1}\\.$`)),
        fix: `"\${EDITOR:-vi}" +1 ${file}`,
      }),
    ]);
  });

  it('is a problem if it is in use and a setting names it as the port of consoles', async () => {
    makeUsers(at('users'));
    const port = await usedPort();
    const wanted = await doctor(['--fake'], {
      env: { EMULATOR_AUTH_FILE: at('users'), EMULATOR_CONSOLE_SSH_PORT: String(port) },
    });
    expect(findingsAbout(wanted, 'port')).toEqual([
      expect.objectContaining({ severity: 'problem', fix: `export EMULATOR_CONSOLE_SSH_PORT=${port + 1}` }),
    ]);
  });

  asRoot('is a warning if it is the port of consoles and the daemon starts without it', async () => {
    makeUsers(at('users'));
    const listener =
      'import socket, subprocess, sys; s = socket.create_server(("127.0.0.1", 2222)); ' +
      'sys.exit(subprocess.call(sys.argv[1:]))';
    const report = await doctor(['--fake'], {
      env: { EMULATOR_AUTH_FILE: at('users'), EMULATOR_CONSOLE_SSH_PORT: "'auto'" },
      through: ['unshare', '--net', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh', 'python3', '-c', listener],
    });
    expect(findingsAbout(report, 'port')).toEqual([
      expect.objectContaining({
        severity: 'warning',
        message: expect.stringMatching(/listens at port 2222, so there are no consoles over SSH\.$/),
      }),
    ]);
  });

  it('is only a note if a bmc-daemon uses it', async () => {
    const daemon = start(FAKE);
    const { port } = new URL(await daemon.address());
    const report = await doctor(['--fake', '-p', port]);
    expect(findingsAbout(report, 'port')).toEqual([
      {
        severity: 'note',
        host: null,
        subject: 'port',
        message: `A bmc-daemon already listens at port ${port} (process ${daemon.pid}).`,
        fix: null,
      },
    ]);
    expect(report.code).toBe(0);
  });

  asRoot('below 1024 is a problem for accounts other than root', async () => {
    const through = [
      'unshare',
      '--net',
      'sh',
      '-c',
      'sysctl -qw net.ipv4.ip_unprivileged_port_start=1024; exec "$@"',
      'sh',
    ];
    const report = await doctor(['--fake', '-p', '443', '-i', '0.0.0.0'], { through: [...through, ...nobody] });
    expect(findingsAbout(report, 'port')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        message: 'The account nobody may not listen at port 443, so the daemon cannot start.',
        fix: 'sudo sysctl net.ipv4.ip_unprivileged_port_start=443',
      }),
    ]);
  });

  it('at an address of another host is a problem', async () => {
    const report = await doctor(['--fake', '-i', '192.0.2.1']);
    expect(findingsAbout(report, 'address')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        message: 'This host has no address 192.0.2.1, so the daemon cannot start.',
        fix: 'bmc-daemon --interface 0.0.0.0',
      }),
    ]);
  });
});

describe('the certificate', () => {
  /** Writes a certificate and a key, and examines them. */
  const examine = async ({ certificate, key }: { readonly certificate: string; readonly key: string }) => {
    writeFileSync(at('server.pem'), certificate);
    writeFileSync(at('server.key'), key, { mode: 0o600 });
    return await doctor(['--fake', '--ssl-certificate', at('server.pem'), '--ssl-key', at('server.key')]);
  };
  const names = [`subjectAltName=DNS:${hostname()},IP:127.0.0.1`];

  it('is a problem if it has expired, and the suggested command creates another one', async () => {
    const report = await examine(createAuthority(at('')).issue('bmc', { extensions: names, expired: true }));
    const [finding] = findingsAbout(report, 'certificate');
    expect(finding).toMatchObject({
      severity: 'problem',
      message: `The certificate ${at('server.pem')} expired on 2020-01-02, so clients reject HTTPS connections.`,
    });
    if (finding !== undefined) applyFix(finding);
    const [pem, key] = ['server.pem', 'server.key'].map((name) => readFileSync(at(name), 'utf8'));
    expect(findingsAbout(await examine({ certificate: pem ?? '', key: key ?? '' }), 'certificate', 'settings')).toEqual(
      [],
    );
  });

  it('is a problem if it is not valid yet, and the suggested command keeps the key and a copy of the certificate', async () => {
    const issued = createAuthority(at('')).issue('bmc', { extensions: names, notYetValid: true });
    const [finding] = findingsAbout(await examine(issued), 'certificate');
    expect(finding).toMatchObject({
      severity: 'problem',
      message: `The certificate ${at('server.pem')} is not valid before 2100-01-01, so clients reject HTTPS connections. If the clock of this host is wrong, set it.`,
    });
    if (finding !== undefined) applyFix(finding);
    const read = (name: string) => readFileSync(at(name), 'utf8');
    expect([read('server.key'), read('server.pem.old')]).toEqual([issued.key, issued.certificate]);
    expect(findingsAbout(await examine({ certificate: read('server.pem'), key: issued.key }), 'certificate')).toEqual(
      [],
    );
  });

  it('needs a key; the suggested command creates a missing key and replaces a damaged one', async () => {
    writeFileSync(at('server.pem'), createAuthority(at('')).issue('bmc').certificate);
    const runDoctor = () =>
      doctor(['--fake', '--ssl-certificate', at('server.pem'), '--ssl-key', at('server.key')], { cwd: at('') });
    for (const key of [undefined, 'no key']) {
      if (key !== undefined) writeFileSync(at('server.key'), key, { mode: 0o600 });
      const [finding] = findingsAbout(await runDoctor(), 'settings');
      expect(finding?.severity).toBe('problem');
      if (finding !== undefined) applyFix(finding);
      expect(findingsAbout(await runDoctor(), 'settings', 'certificate')).toEqual([]);
    }
    expect(readFileSync(at('server.key.old'), 'utf8')).toBe('no key');
  });

  it.each(['server.pem', 'other.pem'])(
    'gets no command that replaces it if the path of the key leads to a certificate (%s)',
    async (key) => {
      const { certificate } = createAuthority(at('')).issue('bmc');
      for (const name of ['server.pem', 'other.pem']) writeFileSync(at(name), certificate, { mode: 0o600 });
      const file = config(`EMULATOR_SSL_CERT = '${at('server.pem')}'\nEMULATOR_SSL_KEY = '${at(key)}'\n`);
      const report = await doctor(['--fake', '--config', file]);
      expect(findingsAbout(report, 'settings')).toEqual([
        expect.objectContaining({ severity: 'problem', fix: `"\${EDITOR:-vi}" +2 ${file}` }),
      ]);
    },
  );

  it('is a warning if it expires soon', async () => {
    const issued = createAuthority(at('')).issue('bmc', { extensions: names });
    const soon = new Date(new X509Certificate(issued.certificate).validTo).toISOString().slice(0, 10);
    const [finding] = findingsAbout(await examine(issued), 'certificate');
    expect(finding).toMatchObject({
      severity: 'warning',
      message: `The certificate ${at('server.pem')} expires on ${soon}, so clients reject HTTPS connections after this day.`,
    });
  });

  // Only root can give a process its own /etc/hosts.
  const asRoot = process.getuid?.() === 0 ? it : it.skip;

  asRoot.each([
    ['127.0.1.1', '0.0.0.0', 0],
    ['127.0.0.1', '127.0.0.1', 0],
    ['192.0.2.7', '0.0.0.0', 1],
  ])('with a name that resolves to %s, while the daemon listens at %s, has %i warnings', async (to, ip, count) => {
    const issued = createAuthority(at('')).issue('bmc', { extensions: ['subjectAltName=DNS:bmc.lab.example'] });
    writeFileSync(at('server.pem'), issued.certificate);
    writeFileSync(at('server.key'), issued.key, { mode: 0o600 });
    writeFileSync(at('hosts'), `127.0.0.1 localhost\n${to} bmc.lab.example\n`);
    const script = 'mount --bind "$0" /etc/hosts && exec "$@"';
    const report = await doctor(
      ['--fake', '-i', ip, '--ssl-certificate', at('server.pem'), '--ssl-key', at('server.key')],
      { through: ['unshare', '--mount', 'sh', '-c', script, at('hosts')] },
    );
    const warnings = findingsAbout(report, 'certificate').filter(({ message }) => message.includes('only the names'));
    expect(warnings).toHaveLength(count);
  });

  it('without a name of this host is a warning', async () => {
    const authority = createAuthority(at(''));
    const findings = findingsAbout(
      await examine(authority.issue('bmc', { extensions: ['subjectAltName=DNS:other.example,IP:192.0.2.7'] })),
      'certificate',
    );
    const [finding] = findings;
    expect(findings).toHaveLength(1);
    expect(finding?.message).toContain(
      `The certificate ${at('server.pem')} has only the names DNS:other.example, IP Address:192.0.2.7, and not ` +
        `${hostname()} or an address of this host, so clients that verify it may reject it.`,
    );
  });

  it('has one finding for its expiry and its names, and a second run of the suggested command keeps the first copy', async () => {
    const issued = createAuthority(at('')).issue('bmc', { extensions: ['subjectAltName=IP:192.0.2.7'], expired: true });
    writeFileSync(at('server.pem.old'), 'an earlier copy');
    const [finding, ...others] = findingsAbout(await examine(issued), 'certificate');
    expect(others).toEqual([]);
    expect(finding).toMatchObject({
      severity: 'problem',
      message: expect.stringMatching(/ expired on 2020-01-02, .*\. The certificate \S+ has only the names /),
    });
    const fix = finding?.fix ?? 'exit 1';
    for (const _ of [1, 2]) spawnSync('sh', ['-c', fix]);
    const read = (name: string) => readFileSync(at(name), 'utf8');
    expect([read('server.pem.old'), read('server.pem.old.2')]).toEqual(['an earlier copy', issued.certificate]);
    expect(findingsAbout(await examine({ certificate: read('server.pem'), key: issued.key }), 'certificate')).toEqual(
      [],
    );
  });

  it('with the key of another certificate is a problem', async () => {
    const authority = createAuthority(at(''));
    const report = await examine({ certificate: authority.issue('a').certificate, key: authority.issue('b').key });
    expect(findingsAbout(report, 'settings')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        message: expect.stringContaining('it is not the key of the certificate'),
        fix: expect.stringMatching(
          /^cp -np (\S+)server\.pem \1server\.pem\.old && openssl req -x509 -key \1server\.key .* -out \1server\.pem$/,
        ),
      }),
    ]);
  });
});

describe('the command for an unusable password file', () => {
  const fixOf = async (file: string) => {
    writeFileSync(at('auth.conf'), `EMULATOR_AUTH_FILE = '${file}'\n`);
    const report = await doctor(['--fake', '--config', at('auth.conf')]);
    return findingsAbout(report, 'settings').find(({ message }) =>
      message.includes('EMULATOR_AUTH_FILE cannot be used'),
    )?.fix;
  };

  it('creates a missing file', async () => {
    expect(await fixOf(at('none'))).toBe(`bmc-daemon htpasswd ${at('none')} admin`);
  });

  it('edits the configuration if the path is a folder', async () => {
    expect(await fixOf(at('.'))).toBe(`"\${EDITOR:-vi}" +1 ${at('auth.conf')}`);
  });
});

describe('the files of the daemon', () => {
  it('are a warning if all accounts can read secrets in them, until the suggested command runs, and a problem if all can write', async () => {
    makeUsers(at('users'));
    chmodSync(at('users'), 0o644);
    const runDoctor = () => doctor(['--fake'], { env: { EMULATOR_AUTH_FILE: at('users') } });
    const [finding] = findingsAbout(await runDoctor(), 'password');
    expect(finding).toMatchObject({
      severity: 'warning',
      message: `Every account may read ${at('users')}, and with it the hashes of all passwords.`,
    });
    if (finding !== undefined) applyFix(finding);
    expect(findingsAbout(await runDoctor(), 'password')).toEqual([]);
    chmodSync(at('users'), 0o602);
    expect(findingsAbout(await runDoctor(), 'password')).toEqual([expect.objectContaining({ severity: 'problem' })]);
  });

  it('are no warning if they are devices that all accounts can read', async () => {
    const report = await doctor(['--fake'], { env: { EMULATOR_AUTH_FILE: '/dev/null' } });
    expect(findingsAbout(report, 'password')).toEqual([]);
  });

  it('have a finding if other accounts may read the state folder; a file in place of the folder is a problem', async () => {
    mkdirSync(at('state'), { mode: 0o755 });
    const runDoctor = () => doctor(['--fake'], { env: { STATE_DIRECTORY: at('state') } });
    const [finding] = findingsAbout(await runDoctor(), 'state');
    expect(finding?.message).toBe(
      `Other accounts may read the state folder ${at('state')}, which has console logs and secrets of event listeners.`,
    );
    if (finding !== undefined) applyFix(finding);
    expect(findingsAbout(await runDoctor(), 'state')).toEqual([]);
    writeFileSync(at('file'), '');
    expect(findingsAbout(await doctor(['--fake'], { env: { EMULATOR_STATE_DIR: at('file') } }), 'state')).toEqual([
      expect.objectContaining({ severity: 'problem' }),
    ]);
  });

  asRoot('have one finding, about the folder, not its space, if the state folder cannot be created', async () => {
    const report = await doctor(['--fake'], { env: { EMULATOR_STATE_DIR: '/proc/x' } });
    expect(findingsAbout(report, 'state', 'disk')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        subject: 'state',
        message:
          'The state folder /proc/x cannot be created, because the file system of /proc stores no files, so the daemon ' +
          'stores no accounts, subscriptions and logs.',
        fix: 'export EMULATOR_STATE_DIR=/var/lib/bmc-daemon',
      }),
    ]);
  });

  asRoot('are a problem if they are in the state folder of the service and belong to root', async () => {
    mkdirSync(at('state'));
    writeFileSync(at('state/roles.json'), '{}', { mode: 0o600 });
    for (const folder of [at(''), at('state')]) execFileSync('chmod', ['711', folder]);
    execFileSync('chown', ['65534', at('state')]);
    chmodSync(at('state'), 0o700);
    const report = await doctor(['--fake'], { env: { STATE_DIRECTORY: at('state') }, through: nobody });
    expect(findingsAbout(report, 'state')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        message: `The account nobody cannot read and write ${at('state/roles.json')}, so the daemon does not start or loses this state.`,
        fix: `sudo chown -R nobody ${at('state')}`,
      }),
    ]);
  });

  asRoot('are a problem if their state folder is on a full disk', async () => {
    const disk = at('disk');
    const script = 'mkdir "$0" && mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"';
    const report = await doctor(['--fake'], {
      env: { EMULATOR_STATE_DIR: path.join(disk, 'state') },
      through: ['unshare', '--mount', 'sh', '-c', script, disk],
    });
    expect(findingsAbout(report, 'disk')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        message: `The state folder ${disk}/state has 64 KiB free, so changes fail with 507.`,
      }),
    ]);
  });
});

describe('the clock', () => {
  it('is a warning if it went back since the daemon wrote its state', async () => {
    mkdirSync(at('state'), { mode: 0o700 });
    writeFileSync(at('state/logs.json'), '');
    const tomorrow = Date.now() / 1000 + 86_400;
    utimesSync(at('state/logs.json'), tomorrow, tomorrow);
    const report = await doctor(['--fake'], { env: { STATE_DIRECTORY: at('state') } });
    expect(findingsAbout(report, 'clock').map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/logs\.json was written in the future \(.*\): the clock went back, so new events/),
    );
  });

  it.each([
    ['yes', 'yes', []],
    [
      'no',
      'no',
      [expect.objectContaining({ severity: 'warning', fix: expect.stringContaining('timedatectl set-ntp true') })],
    ],
    ['unknown', '', [expect.objectContaining({ severity: 'note' })]],
  ])('has a finding unless systemd reports that it is synchronized: %s', async (_, answer, findings) => {
    mkdirSync(at('bin'));
    for (const name of ['timedatectl', 'chronyc'])
      writeFileSync(at(`bin/${name}`), `#!/bin/sh\necho '${name === 'timedatectl' ? answer : ''}'\n`, { mode: 0o755 });
    const report = await doctor(['--fake'], { env: { PATH: `${at('bin')}:${process.env['PATH'] ?? ''}` } });
    expect(findingsAbout(report, 'clock')).toEqual(findings);
  });
});

describe('servers that the settings name', () => {
  it('without an address are a warning', async () => {
    const env = { EMULATOR_VMEDIA_ALLOWED_HOSTS: "['images.invalid', '*.lab.invalid', '10.0.0.0/8', 'localhost']" };
    expect(findingsAbout(await doctor(['--fake'], { env }), 'name')).toEqual([
      expect.objectContaining({
        severity: 'warning',
        message: 'The image server images.invalid has no address, so inserts of its images fail.',
      }),
    ]);
  });

  it('are a problem if the shared store is on them and not reachable', async () => {
    const port = await usedPort();
    const runDoctor = (to: number) => doctor(['--fake'], { env: { EMULATOR_SHARED_STORE: `redis://127.0.0.1:${to}` } });
    expect(findingsAbout(await runDoctor(port), 'store')).toEqual([]);
    expect(findingsAbout(await runDoctor(1), 'store')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        message:
          'The shared store at 127.0.0.1 is not reachable (connection refused), so requests that need a login get 503.',
      }),
    ]);
  });
});
