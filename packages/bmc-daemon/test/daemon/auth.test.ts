import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { daemonFixture, FAKE } from './fixture.js';
import { run, waitFor, type DaemonProcess } from './process.js';

const execute = promisify(execFile);
const { at, config, makeCertificate, start } = daemonFixture();

/** Returns the status that curl gets. @throws if curl fails, for example if it rejects the certificate. */
async function curl(...args: string[]): Promise<number> {
  const { stdout } = await execute('curl', [
    '--silent',
    '--output',
    '/dev/null',
    '--write-out',
    '%{http_code}',
    ...args,
  ]);
  return Number(stdout);
}

/** Starts a daemon with the password file `users`. */
function startWithUsers(...args: string[]): DaemonProcess {
  return start([...FAKE, '--config', config("EMULATOR_AUTH_FILE = 'users'\n"), ...args]);
}

const withUser = (address: string, user: string) => address.replace('://', `://${user}@`);

describe('a daemon with a password file', () => {
  it("accepts a user that Debian's htpasswd -cB has added, and rejects a wrong or missing password", async () => {
    await execute('htpasswd', ['-cbB', at('users'), 'admin', 'secret']);
    const daemon = startWithUsers();
    const address = await daemon.address();
    const systems = `${address}/redfish/v1/Systems`;
    expect(await curl(systems)).toBe(401);
    expect(await curl(withUser(systems, 'admin:secret'))).toBe(200);
    expect(await curl(withUser(systems, 'admin:wrong'))).toBe(401);
    expect(await curl('--user', 'admin:secret', systems)).toBe(200);
    for (const uri of ['/redfish', '/redfish/v1', '/redfish/v1/', '/redfish/v1/odata', '/redfish/v1/$metadata']) {
      expect([uri, await curl(`${address}${uri}`)]).toEqual([uri, 200]);
      expect([uri, await curl('--head', `${address}${uri}`)]).toEqual([uri, 200]);
    }
    const refused = await fetch(systems);
    expect(refused.headers.get('www-authenticate')).toMatch(/^Basic .*charset="UTF-8"/);
    expect(daemon.stdout).not.toContain('secret');
    await daemon.waitForLog(/^request$/, 15);
    expect(daemon.lines.filter(({ refused }) => refused !== undefined)).toEqual([
      expect.objectContaining({ status: 401, user: null, refused: 'no credentials' }),
      expect.objectContaining({ status: 401, user: null, refused: 'wrong password, user admin' }),
      expect.objectContaining({ status: 401, user: null, refused: 'no credentials' }),
    ]);
  });

  it('also accepts and refuses logins over HTTPS', async () => {
    makeCertificate('one');
    await execute('htpasswd', ['-cbB', at('users'), 'admin', 'secret']);
    const address = await startWithUsers('--ssl-certificate', at('one.pem'), '--ssl-key', at('one.key')).address();
    expect(await curl('--cacert', at('one.pem'), withUser(`${address}/redfish/v1/Systems`, 'admin:secret'))).toBe(200);
    expect(await curl('--cacert', at('one.pem'), `${address}/redfish/v1/Systems`)).toBe(401);
  });

  it('follows changes of this file, and rejects all logins while it is missing', async () => {
    await execute('htpasswd', ['-cbB', at('users'), 'admin', 'old']);
    const systems = `${await startWithUsers().address()}/redfish/v1/Systems`;
    expect(await curl(withUser(systems, 'admin:old'))).toBe(200);
    await execute('htpasswd', ['-bB', at('users'), 'admin', 'new']);
    const untilStatus = (user: string, status: number) =>
      waitFor(
        async () => ((await curl(withUser(systems, user))) === status ? true : undefined),
        () => `${user} did not get ${status}`,
      );
    await untilStatus('admin:old', 401);
    expect(await curl(withUser(systems, 'admin:new'))).toBe(200);
    rmSync(at('users'));
    await untilStatus('admin:new', 401);
    await execute('htpasswd', ['-cbB', at('users'), 'admin', 'new']);
    await untilStatus('admin:new', 200);
  });

  it.each([
    ['-m', 'the password is hashed with MD5 (htpasswd -m, its default)'],
    ['-s', 'the password is hashed with SHA-1 (htpasswd -s)'],
    ['-d', 'the password is plain text or hashed with crypt (htpasswd -p, -d)'],
    ['-p', 'the password is plain text or hashed with crypt (htpasswd -p, -d)'],
  ])('does not start, and names the line, if htpasswd %s has added a user', async (kind, reason) => {
    await execute('htpasswd', ['-cbB', at('users'), 'admin', 'secret']);
    await execute('htpasswd', ['-b', kind, at('users'), 'other', 'secret']);
    const { code, stderr } = await run([...FAKE, '--config', config("EMULATOR_AUTH_FILE = 'users'\n")]);
    expect({ code, stderr }).toEqual({
      code: 78,
      stderr:
        `${at('users')}:2: ${reason}, which is not accepted; make a bcrypt hash with: bmc-daemon ` +
        `htpasswd FILE USER\n`,
    });
  });
});

/** Sends a request, with JSON if there is a body. */
async function send(
  method: string,
  url: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/**
 * Logs in.
 * @returns the headers of the session.
 */
async function openSession(address: string, user: string, password: string): Promise<Readonly<Record<string, string>>> {
  const url = `${address}/redfish/v1/SessionService/Sessions`;
  const answer = await send('POST', url, { UserName: user, Password: password });
  expect(answer.status).toBe(201);
  return { 'X-Auth-Token': answer.headers.get('x-auth-token') ?? '' };
}

describe('stored accounts', () => {
  const accounts = '/redfish/v1/AccountService/Accounts';
  const created = { UserName: 'ada', Password: 'ada counts', RoleId: 'ReadOnly' };

  it("survive a restart, in a file that Apache's htpasswd reads and writes, and in the state folder", async () => {
    await execute('htpasswd', ['-cbB', at('users'), 'admin', 'secret']);
    const daemon = startWithUsers();
    const address = await daemon.address();
    const admin = await openSession(address, 'admin', 'secret');
    const role = { RoleId: 'Clerk', AssignedPrivileges: ['Login', 'ConfigureSelf'] };
    expect((await send('POST', `${address}/redfish/v1/AccountService/Roles`, role, admin)).status).toBe(201);
    const ada = { ...created, RoleId: 'Clerk' };
    expect((await send('POST', `${address}${accounts}`, ada, admin)).status).toBe(201);
    await execute('htpasswd', ['-vb', at('users'), 'ada', 'ada counts']);
    daemon.signal('SIGTERM');
    await daemon.waitForExit();

    const again = startWithUsers();
    const other = await again.address();
    const session = await openSession(other, 'ada', 'ada counts');
    expect(await (await send('GET', `${other}${accounts}/ada`, undefined, session)).json()).toMatchObject({
      RoleId: 'Clerk',
      Enabled: true,
    });
    expect((await send('POST', `${other}${accounts}`, created, session)).status).toBe(403);
    // Sessions end with the daemon.
    expect((await send('GET', `${other}/redfish/v1/Systems`, undefined, admin)).status).toBe(401);
    for (const { stdout } of [daemon, again]) expect(stdout).not.toMatch(/secret|ada counts|[0-9a-f]{64}/);
  });

  it('prevent the start if they are damaged, because otherwise every user would be an administrator', async () => {
    await execute('htpasswd', ['-cbB', at('users'), 'admin', 'secret']);
    writeFileSync(at('access.json'), '{"accounts": [');
    const settings = `EMULATOR_AUTH_FILE = 'users'\nEMULATOR_STATE_DIR = '${at('')}'\n`;
    const { code, stderr } = await run([...FAKE, '--config', config(settings)]);
    expect({ code, stderr }).toEqual({
      code: 78,
      stderr: `${at('bmc.conf')}:2: ${at('access.json')} is damaged: correct it, or move it away to start without it\n`,
    });
  });

  it('do not lose their sessions when the daemon reads certificate and key again', async () => {
    makeCertificate('one');
    await execute('htpasswd', ['-cbB', at('users'), 'admin', 'secret']);
    const daemon = startWithUsers('--ssl-certificate', at('one.pem'), '--ssl-key', at('one.key'));
    const systems = `${await daemon.address()}/redfish/v1/Systems`;
    const sessions = systems.replace('Systems', 'SessionService/Sessions');
    const { stdout } = await execute('curl', [
      ...['--silent', '--insecure', '--dump-header', '-', '--output', '/dev/null', '--json'],
      ...['{"UserName":"admin","Password":"secret"}', sessions],
    ]);
    const token = /^x-auth-token: .*$/im.exec(stdout)?.[0].trim() ?? '';
    expect(await curl('--insecure', '--header', token, systems)).toBe(200);
    makeCertificate('one');
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/certificate and key reloaded/);
    expect(await curl('--insecure', '--header', token, systems)).toBe(200);
    expect(await curl('--insecure', '--header', `${token}0`, systems)).toBe(401);
  });
});

describe('bmc-daemon htpasswd', () => {
  it('creates a file that the daemon accepts, from a password on standard input', async () => {
    expect(await run(['htpasswd', at('users'), 'admin'], { input: 'pä:ss\n' })).toEqual({
      code: 0,
      stdout: '',
      stderr: `user admin added to ${at('users')}\n`,
    });
    expect(await run(['htpasswd', at('users'), 'other'], { input: 'x y\nx y\n' })).toMatchObject({ code: 0 });
    const systems = `${await startWithUsers().address()}/redfish/v1/Systems`;
    expect(await curl('--user', 'admin:pä:ss', systems)).toBe(200);
    expect(await curl('--user', 'other:x y', systems)).toBe(200);
    expect(await curl('--user', 'other:x', systems)).toBe(401);
  });

  it.each([
    ['no password', '', 'the password is empty'],
    ['two passwords that differ', 'one\ntwo\n', 'the two passwords differ'],
    ['73 bytes', `${'x'.repeat(73)}\n`, 'the password has 73 bytes, and bcrypt uses only the first 72'],
    ['70,000 bytes', 'x'.repeat(70_000), 'standard input is too long for a password'],
  ])('refuses %s on standard input, and creates no file', async (_, input, reason) => {
    expect(await run(['htpasswd', at('users'), 'admin'], { input })).toEqual({
      code: 1,
      stdout: '',
      stderr: `${reason}\n`,
    });
    await expect(execute('test', ['-e', at('users')])).rejects.toThrow('Command failed');
  });

  it.each([
    [
      'the same password twice',
      ['sécret', 'sécret'],
      0,
      /New password: \r?\nRepeat the new password: \r?\nuser admin added to /,
    ],
    ['two passwords that differ', ['eins', 'zwei'], 1, /the two passwords differ/],
    ['Ctrl-C', ['\x03'], 1, /no password was given/],
    ['an erased letter', ['sex\x7fcret', 'secret'], 0, /user admin added to /],
    ['an erased letter where TERM=dumb', ['sex\x7fcret', 'secret'], 0, /user admin added to /, 'dumb'],
  ])('asks twice at a terminal, without echo; the user types %s', async (_, answers, code, said, term = 'xterm') => {
    // Gives the command a terminal, and types only after a prompt.
    writeFileSync(at('type.py'), TYPIST);
    const words = [at('type.py'), JSON.stringify(answers), process.execPath, BIN, 'htpasswd', at('users'), 'admin'];
    const { stdout } = await execute('/usr/bin/python3', words, { env: { ...process.env, TERM: term } });
    const { screen, exit } = JSON.parse(stdout) as { screen: string; exit: number };
    expect(screen).toMatch(said);
    expect(exit).toBe(code);
    for (const answer of answers) if (answer.length > 1) expect(screen).not.toContain(answer.slice(0, 3));
  });
});

const BIN = new URL('../../bin/bmc-daemon.js', import.meta.url).pathname;

/**
 * Runs a command on a pseudo-terminal, types an answer after each prompt, and prints the screen and the exit status.
 */
const TYPIST = `
import json, os, pty, sys
answers = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
screen = b''
asked = 0
while True:
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    screen += data
    while asked < len(answers) and asked < screen.count(b'assword: '):
        os.write(fd, answers[asked].encode() + (b'' if answers[asked] == '\\x03' else b'\\r'))
        asked += 1
_, status = os.waitpid(pid, 0)
print(json.dumps({'screen': screen.decode(), 'exit': os.waitstatus_to_exitcode(status)}))
`;
