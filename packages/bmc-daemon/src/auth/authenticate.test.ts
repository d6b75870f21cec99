import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { compare, compareSync, hash } from 'bcrypt';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Authenticate } from '../redfish/authenticate.js';
import { RedfishError } from '../redfish/messages/errors.js';
import { stateInMemory } from '../../test/support/services.js';
import { openAccess } from './access.js';
import { initialAccessState } from './access-state.js';
import { decoyOfCost, type LoginOptions } from './login.js';
import { PasswordFileError } from '../password-file/password-file.js';

const run = promisify(execFile);

let folder: string;
let file: string;
let server: Server | undefined;
/** The time of the fake clock in milliseconds. Each wait of the login queue moves the clock forward. */
let time: number;
let slept: number[];
let logged: string[];

const log = {
  info: (message: string) => logged.push(`info ${message}`),
  warn: (message: string) => logged.push(`warn ${message}`),
  error: (message: string) => logged.push(`error ${message}`),
};

/**
 * Replaces the timer of the login queue: after all other pending work, moves the fake clock forward by `ms` and calls
 * `call`. Returns a function that cancels this.
 */
function advanceClock(ms: number, call: () => void): () => void {
  const timer = setImmediate(() => {
    slept.push(ms);
    time += ms;
    call();
  });
  return () => clearImmediate(timer);
}

/** Compares a password with a hash synchronously, so that no wait of the fake clock ends before the result. */
const verify = (password: Buffer, line: string) => Promise.resolve(compareSync(password, line.replace('$2y$', '$2b$')));

function authentication(): Authenticate {
  return authenticateWith({ after: advanceClock, verify });
}

function authenticateWith(login: Pick<LoginOptions, 'after' | 'verify'>): Authenticate {
  const state = stateInMemory(initialAccessState);
  return openAccess({ authFile: file, state, log, now: () => time, login }).authenticate;
}

/**
 * Starts a real server. Its answers contain the result of `authenticate`, and whether the result
 * was a promise; if `authenticate` rejects, only the error. Returns a function that sends a request
 * and returns the answer.
 */
async function serve(authenticate: Authenticate): Promise<(credentials?: string) => Promise<unknown>> {
  server = createServer((request, response) => {
    const answer = authenticate(request);
    const promised = answer instanceof Promise;
    Promise.resolve(answer).then(
      (result) => response.end(JSON.stringify({ ...('refused' in result ? result : { user: result.user }), promised })),
      (error: unknown) => {
        response.end(
          JSON.stringify(
            error instanceof RedfishError ? { status: error.status, headers: error.headers } : String(error),
          ),
        );
      },
    );
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  // The server listens on TCP, so its address is an object.
  const { port } = server.address() as AddressInfo;
  return async (credentials) => {
    const headers =
      credentials === undefined ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
    return (await fetch(`http://127.0.0.1:${port}/`, { headers })).json();
  };
}

/** Resolves with the next request, after `authenticate` was called for it. */
async function nextRequest(): Promise<IncomingMessage> {
  if (server === undefined) throw new Error('nothing is served');
  const [request] = (await once(server, 'request')) as [IncomingMessage]; // the documented arguments of this event
  return request;
}

/**
 * Sends a request and resets the connection before the answer.
 * @returns the server's socket, which is closed.
 */
async function askAndDisconnect(credentials: string): Promise<Socket> {
  if (server === undefined) throw new Error('nothing is served');
  const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
  const asked = nextRequest();
  const client = connect(port, '127.0.0.1');
  client.write(
    `GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${Buffer.from(credentials).toString('base64')}\r\n\r\n`,
  );
  const { socket } = await asked;
  // `once` of node:events would reject, because the socket first reports the reset as an error.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  client.resetAndDestroy();
  await closed;
  return socket;
}

/** Returns the faults that prevent the start; empty if there are none. */
function startFaults(): readonly string[] {
  try {
    authenticateWith({});
  } catch (error) {
    if (error instanceof PasswordFileError) return error.faults;
    throw error;
  }
  return [];
}

async function writeUsers(users: Readonly<Record<string, string>>): Promise<void> {
  const lines = await Promise.all(
    Object.entries(users).map(async ([user, password]) => `${user}:${await hash(password, 4)}\n`),
  );
  writeFileSync(file, lines.join(''));
}

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-auth-'));
  file = path.join(folder, 'users');
  time = 0;
  slept = [];
  logged = [];
});

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
  rmSync(folder, { recursive: true });
});

describe('authentication by password file', () => {
  it("accepts a user that Debian's htpasswd -cB created, and no other name or password", async () => {
    await run('htpasswd', ['-cbB', file, 'admin', 'pa:ss wörd']);
    const ask = await serve(authentication());
    expect(await ask()).toEqual({ refused: 'no credentials', promised: false });
    expect(await ask('admin')).toEqual({ refused: 'malformed credentials', promised: false });
    expect(await ask('admin:wrong')).toEqual({ refused: 'wrong password', attemptedUser: 'admin', promised: true });
    expect(await ask('Admin:pa:ss wörd')).toEqual({ refused: 'unknown user', attemptedUser: 'Admin', promised: true });
    expect(await ask('admin:pa:ss wörd')).toEqual({ user: 'admin', promised: true });
  });

  it('answers a cached password without a promise, but verifies another password', async () => {
    await writeUsers({ admin: 'secret' });
    const ask = await serve(authentication());
    expect(await ask('admin:secret')).toEqual({ user: 'admin', promised: true });
    expect(await ask('admin:secret')).toEqual({ user: 'admin', promised: false });
    expect(await ask('admin:secrets')).toEqual({ refused: 'wrong password', attemptedUser: 'admin', promised: true });
    expect(await ask('admin:secret')).toEqual({ user: 'admin', promised: false });
  });

  it('verifies a password only once for a client that opens many connections at the same time', async () => {
    await writeUsers({ admin: 'secret' });
    const verified: string[] = [];
    const counted: typeof verify = (password, line) => {
      verified.push(password.toString());
      return verify(password, line);
    };
    const ask = await serve(authenticateWith({ after: advanceClock, verify: counted }));
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask('admin:secret')));
    expect(answers.filter((answer) => JSON.stringify(answer).includes('"user":"admin"'))).toHaveLength(30);
    expect(verified).toEqual(['secret']);
    expect(slept).toEqual([]);
  });

  it('delays wrong passwords of one user more and more, but not the right password', async () => {
    await writeUsers({ admin: 'secret', other: 'secret' });
    const ask = await serve(authentication());
    await ask('other:secret');
    // Four attempts are free. The fifth one sets the first gap, and each later attempt doubles the gap.
    for (let attempt = 0; attempt < 7; attempt += 1) await ask(`admin:wrong ${attempt}`);
    expect(slept).toEqual([500, 1000]);
    expect(await ask('other:secret')).toEqual({ user: 'other', promised: false });
    expect(await ask('admin:secret')).toEqual({ user: 'admin', promised: true });
    expect(slept).toEqual([500, 1000]);
    // The right password has reset the count.
    for (let attempt = 0; attempt < 6; attempt += 1) await ask(`admin:wronger ${attempt}`);
    expect(slept).toEqual([500, 1000, 500]);
    expect(await ask('admin:secret')).toEqual({ user: 'admin', promised: false });
  });

  it('answers a cached wrong password of the same client at once', async () => {
    await writeUsers({ admin: 'secret' });
    const ask = await serve(authentication());
    const wrong = { refused: 'wrong password', attemptedUser: 'admin' };
    expect(await ask('admin:old')).toEqual({ ...wrong, promised: true });
    for (let attempt = 0; attempt < 20; attempt += 1)
      expect(await ask('admin:old')).toEqual({ ...wrong, promised: false });
    expect(await ask('nobody:old')).toMatchObject({ refused: 'unknown user', promised: true });
    expect(await ask('nobody:old')).toMatchObject({ refused: 'unknown user', promised: false });
    expect(slept).toEqual([]);
    await writeUsers({ admin: 'old' });
    time += 1000;
    expect(await ask('admin:old')).toEqual({ user: 'admin', promised: true });
  });

  it('verifies a password that waits in the queue only if at least one client still waits for the result', async () => {
    await writeUsers({ admin: 'secret' });
    const wakers: (() => void)[] = [];
    const verified: string[] = [];
    const ask = await serve(
      authenticateWith({
        after: (ms, call) => {
          wakers.push(() => {
            time += ms;
            call();
          });
          return () => undefined;
        },
        verify: (password, line) => {
          verified.push(password.toString());
          return verify(password, line);
        },
      }),
    );
    // Unknown names use only the common lane. After these five attempts, the next attempt must wait in this lane.
    for (let attempt = 0; attempt < 5; attempt += 1) await ask(`nobody:wrong ${attempt}`);
    verified.length = 0;
    const wakeWaiters = () => wakers.splice(0).forEach((waker) => waker());

    const gone = await askAndDisconnect('nobody:secret');
    expect(gone.destroyed).toBe(true);
    const joined = nextRequest();
    const answer = ask('nobody:secret');
    await joined;
    wakeWaiters();
    expect(await answer).toEqual({ refused: 'unknown user', attemptedUser: 'nobody', promised: true });
    expect(verified).toEqual(['secret']);

    const alone = await askAndDisconnect('nobody:guess');
    expect(alone.destroyed).toBe(true);
    wakeWaiters();
    expect(verified).toEqual(['secret']);
  });

  it('reports that a password was not verified, and when to retry, if the wait is too long', async () => {
    await writeUsers({ admin: 'secret' });
    let arrive = (): void => undefined;
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const ask = await serve(
      authenticateWith({
        after: (ms, call) => {
          let cancel = (): void => undefined;
          void arrived.then(() => (cancel = advanceClock(ms, call)));
          return () => cancel();
        },
        verify,
      }),
    );
    const guesses = 12;
    let requests = 0;
    server?.on('request', () => {
      requests += 1;
      if (requests === guesses) arrive();
    });
    const answers = await Promise.all(Array.from({ length: guesses }, (_, at) => ask(`nobody:guess ${at}`)));
    // Attempts had their turn after 0, 0, 0, 0, 0, 500, 1500, 3500 and 7500 ms. The maximum wait is
    // 8000 ms.
    const unknown = { refused: 'unknown user', attemptedUser: 'nobody', promised: true };
    const late = { ...unknown, refused: 'no result yet, try again later', retryAfterSeconds: 5 };
    const isLate = (answer: unknown) => JSON.stringify(answer).includes('no result yet');
    expect(answers.filter((answer) => !isLate(answer))).toEqual(Array<unknown>(9).fill(unknown));
    expect(answers.filter(isLate)).toEqual(Array<unknown>(3).fill(late));
  });

  it('delays the attempts of an address that tries many names', async () => {
    await writeUsers({ admin: 'secret' });
    const ask = await serve(authentication());
    for (let attempt = 0; attempt < 30; attempt += 1) await ask(`name${attempt}:wrong`);
    expect(slept).toEqual([100, 200, 400, 800, 1000, 1000, 1000, 1000, 1000]);
  });

  it('asks the client to retry if the password of the account changes during the verification', async () => {
    await writeUsers({ admin: 'old' });
    const ask = await serve(
      authenticateWith({
        after: advanceClock,
        verify: async (password, line) => {
          await writeUsers({ admin: 'new' });
          time += 1000;
          return verify(password, line);
        },
      }),
    );
    expect(await ask('admin:new')).toMatchObject({ retryAfterSeconds: 1 });
    expect(await ask('admin:new')).toMatchObject({ retryAfterSeconds: 1 });
  });

  it('rejects names and passwords longer than 1 KiB without verification', async () => {
    await writeUsers({ admin: 'secret' });
    const ask = await serve(authentication());
    const refusal = { refused: 'the user name or the password is too long, or has a NUL', promised: false };
    expect(await ask(`${'a'.repeat(1025)}:x`)).toEqual(refusal);
    expect(await ask(`admin:${'a'.repeat(1025)}`)).toEqual(refusal);
    expect(await ask(`admin:${'a'.repeat(1024)}`)).toMatchObject({ refused: 'wrong password' });
  });

  it('has a decoy for unknown users: a bcrypt hash of the given cost that a password does not match', async () => {
    const decoy = decoyOfCost(4);
    expect(decoy).toMatch(/^\$2b\$04\$[./A-Za-z0-9]{53}$/);
    const salt = decoy.slice(0, 29);
    // If bcrypt rejected the salt, the answer would come at once and show that the user is unknown.
    const made = await hash('x', salt);
    expect(made.slice(0, 7)).toBe('$2b$04$');
    expect(await compare('x', made)).toBe(true);
    expect(await compare('x', decoy)).toBe(false);
  });
});

describe('a password file that changes', () => {
  it('is read again: new passwords work, old and cached ones do not', async () => {
    await writeUsers({ admin: 'old', other: 'same' });
    const ask = await serve(authentication());
    await ask('admin:old');
    await ask('other:same');
    await writeUsers({ admin: 'new' });
    // The daemon checks the file for changes at most once a second, so the old password is still valid.
    expect(await ask('admin:old')).toEqual({ user: 'admin', promised: false });
    time += 1000;
    expect(await ask('admin:old')).toEqual({ refused: 'wrong password', attemptedUser: 'admin', promised: true });
    expect(await ask('other:same')).toEqual({ refused: 'unknown user', attemptedUser: 'other', promised: true });
    expect(await ask('admin:new')).toEqual({ user: 'admin', promised: true });
    expect(logged).toEqual(['info password file reloaded']);
  });

  it('is read again after a change in place with the same size and time, and after a rename onto it', async () => {
    await writeUsers({ admin: 'old1' });
    utimesSync(file, 1000, 1000);
    const ask = await serve(authentication());
    await ask('admin:old1');
    await writeUsers({ admin: 'new2' });
    utimesSync(file, 1000, 1000);
    time += 1000;
    expect(await ask('admin:new2')).toEqual({ user: 'admin', promised: true });

    const original = file;
    file = path.join(folder, 'next');
    await writeUsers({ admin: 'new3' });
    renameSync(file, original);
    file = original;
    time += 1000;
    expect(await ask('admin:new3')).toEqual({ user: 'admin', promised: true });
  });

  it('may get a damaged line: the user of this line cannot log in, the other users can', async () => {
    await writeUsers({ admin: 'secret', gone: 'secret' });
    const ask = await serve(authentication());
    await ask('admin:secret');
    await ask('gone:secret');
    writeFileSync(file, `gone:plain\nadmin:${await hash('secret', 4)}\n`);
    time += 1000;
    expect(await ask('admin:secret')).toEqual({ user: 'admin', promised: true });
    expect(await ask('gone:secret')).toEqual({ refused: 'unknown user', attemptedUser: 'gone', promised: true });
    expect(logged).toEqual([
      `error ${file}:1: the password is plain text or hashed with crypt (htpasswd -p, -d), which is not accepted; make a bcrypt hash with: bmc-daemon htpasswd FILE USER; this line is ignored`,
      'info password file reloaded',
    ]);
  });

  it('locks all users out while it is missing, and admits the same users when it is back', async () => {
    await writeUsers({ admin: 'secret' });
    const backup = path.join(folder, 'kept');
    copyFileSync(file, backup);
    const ask = await serve(authentication());
    await ask('admin:secret');
    rmSync(file);
    time += 1000;
    expect(await ask('admin:secret')).toEqual({ refused: 'unknown user', attemptedUser: 'admin', promised: true });
    copyFileSync(backup, file);
    time += 1000;
    // The hash is the same, so the cached password is still valid.
    expect(await ask('admin:secret')).toEqual({ user: 'admin', promised: false });
    expect(logged).toEqual([
      'error no user can log in until the password file is readable',
      'info password file reloaded',
    ]);
  });
});

describe('a password file at the start', () => {
  it.each([
    ['is missing', undefined, 'there is no such file'],
    ['is not UTF-8', Buffer.from([0x61, 0xff]), 'it is not UTF-8'],
  ])('stops the start if it %s', (_, content, reason) => {
    if (content !== undefined) writeFileSync(file, content);
    expect(startFaults()).toEqual([`${file}: the password file cannot be read: ${reason}`]);
  });

  it('stops the start if it has invalid lines, and the error names each of them', async () => {
    await run('htpasswd', ['-cbm', file, 'md5', 'secret']);
    await run('htpasswd', ['-bs', file, 'sha', 'secret']);
    await run('htpasswd', ['-bB', file, 'good', 'secret']);
    const advice = 'which is not accepted; make a bcrypt hash with: bmc-daemon htpasswd FILE USER';
    expect(startFaults()).toEqual([
      `${file}:1: the password is hashed with MD5 (htpasswd -m, its default), ${advice}`,
      `${file}:2: the password is hashed with SHA-1 (htpasswd -s), ${advice}`,
    ]);
  });

  it('causes a warning if it has no users', () => {
    writeFileSync(file, '# empty\n');
    authenticateWith({});
    expect(logged).toEqual([`warn ${file}: the password file has no user, so no user can log in`]);
  });
});
