/**
 * A service with machines in memory, for tests of sessions, accounts, roles and privileges over
 * HTTP.
 */
import { afterEach, beforeEach } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openAccess } from '../../src/auth/access.js';
import { initialAccessState } from '../../src/auth/access-state.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { createPipeline, type RequestOutcome } from '../../src/redfish/pipeline.js';
import { resources } from '../../src/features.js';
import { serve, type Client, type Received } from './client.js';
import { stateInMemory, testServices } from './services.js';

/** URI of the service root. */
export const root = '/redfish/v1';
/** URI of the collection of sessions. */
export const sessions = `${root}/SessionService/Sessions`;
/** URI of the collection of accounts. */
export const accounts = `${root}/AccountService/Accounts`;
/** URI of the collection of roles. */
export const roles = `${root}/AccountService/Roles`;

/** An administrator, an operator and a read-only user, with their passwords. */
export const USERS = {
  admin: 'secret words',
  olga: 'operates all',
  rick: 'reads a lot',
};
/** The name of a test user. */
export type User = keyof typeof USERS;

/** The service of a test. Each test gets a new service. */
export interface AccessFixture {
  readonly client: Client;
  /** Path of the password file. */
  readonly file: string;
  readonly folder: string;
  /** URI of a machine. */
  readonly machine: string;
  /** Outcomes of the requests so far. */
  readonly outcomes: readonly RequestOutcome[];
  /** Advances the clocks by milliseconds. */
  advance(milliseconds: number): void;
  /** Sets a password as an administrator does on the host. */
  htpasswd(user: string, password: string): void;
  /** POSTs a session to the collection or to `uri`. Returns the answer, also an error. */
  logIn(user: unknown, password: unknown, uri?: string): Promise<Received>;
}

/**
 * Registers the hooks of a suite that start and stop the service.
 * @param options `open`: whether to start without a password file.
 */
export function accessFixture({ open = false }: { readonly open?: boolean } = {}): AccessFixture {
  let running: Running | undefined;
  let time = 0;
  const current = () => running ?? fail();

  beforeEach(async () => {
    time = 0;
    running = await start(
      open,
      () => time,
      (ms) => (time += ms),
    );
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  });

  return {
    get client() {
      return current().client;
    },
    get file() {
      return current().file;
    },
    get folder() {
      return current().folder;
    },
    get machine() {
      return current().machine;
    },
    get outcomes() {
      return current().outcomes;
    },
    advance: (milliseconds) => void (time += milliseconds),
    htpasswd: (user, password) => setPassword(current().file, user, password),
    logIn: (user, password, uri = sessions) =>
      current().client.send('POST', uri, { body: { UserName: user, Password: password } }),
  };
}

function fail(): never {
  throw new Error('using the service outside of a test');
}

interface Running extends Pick<AccessFixture, 'client' | 'file' | 'folder' | 'machine' | 'outcomes'> {
  readonly stop: () => Promise<void>;
}

async function start(open: boolean, clock: () => number, advance: (ms: number) => void): Promise<Running> {
  const folder = mkdtempSync(path.join(tmpdir(), 'bmc-access-'));
  const file = path.join(folder, 'users');
  writeFileSync(file, '');
  for (const [user, password] of Object.entries(USERS)) setPassword(file, user, password);
  const access = openAccess({
    authFile: open ? null : file,
    state: stateInMemory({
      ...initialAccessState,
      accounts: [
        { user: 'olga', roleId: 'Operator', enabled: true, passwordChangeRequired: false },
        { user: 'rick', roleId: 'ReadOnly', enabled: true, passwordChangeRequired: false },
      ],
    }),
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    now: clock,
    clock,
    // A wait of the login advances the clock instead of lasting.
    login: {
      after: (ms, call) => {
        let isWanted = true;
        setImmediate(() => {
          if (!isWanted) return;
          advance(ms);
          call();
        });
        return () => (isWanted = false);
      },
    },
    sessionLimits: { perUser: 4, total: 8 },
  });
  const driver = new FakeDriver();
  const pipeline = createPipeline({
    resources,
    services: testServices(driver, { access }),
    authenticate: access.authenticate,
    strict: true,
  });
  const outcomes: RequestOutcome[] = [];
  const client = await serve(
    (request, response) => void pipeline(request, response, '1').then((outcome) => outcomes.push(outcome)),
  );
  const [machine] = await driver.listSystems();
  return {
    client,
    file,
    folder,
    machine: `${root}/Systems/${machine?.uuid ?? ''}`,
    outcomes,
    stop: async () => {
      await client.close();
      await driver.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Sets a password with bcrypt at its lowest cost. */
function setPassword(file: string, user: string, password: string): void {
  execFileSync('htpasswd', ['-bB', '-C', '4', file, user, password], { stdio: 'pipe' });
}

/** Returns the headers of HTTP Basic authentication. */
export const basic = (user: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});
/** Returns the headers of a test user. */
export const headersOf = (user: User) => basic(user, USERS[user]);
/** Returns the header with the token of a created session. */
export const tokenHeader = ({ headers }: Received) => ({ 'X-Auth-Token': String(headers['x-auth-token']) });

interface ErrorBody {
  readonly error: { readonly '@Message.ExtendedInfo': readonly { readonly MessageId: string }[] };
}

/** Returns status and message keys of a response, such as `403 InsufficientPrivilege`. */
export const statusAndKeys = ({ status, json }: Received): string =>
  [
    status,
    // contract.test.ts checks that every error has this body.
    ...(status >= 400
      ? (json as ErrorBody).error['@Message.ExtendedInfo'].map(({ MessageId }) => MessageId.split('.').at(-1))
      : []),
  ].join(' ');
