/**
 * Runs the whole daemon for the tests of rules (`*-rules.test.ts`) as DMTF's validators see it:
 * strict, with an account, and with machines in memory.
 */
import { clientAt, type Received, type Sent } from '../support/client.js';
import { ConfigurationFolder } from '../spec/configured.js';

/** The JSON object of a request or an answer. */
export type Body = Readonly<Record<string, unknown>>;

/** URI of the service root. */
export const root = '/redfish/v1';
/** URI of the collection of sessions. */
export const sessions = `${root}/SessionService/Sessions`;
/** URI of the collection of accounts. */
export const accounts = `${root}/AccountService/Accounts`;
/** URI of the collection of roles. */
export const roles = `${root}/AccountService/Roles`;

/** The only account at the start. */
export const administrator = { UserName: 'admin', Password: 'secret' } as const;

/** A running daemon, and requests to it. */
export interface RuleService {
  readonly port: number;
  /**
   * Sends a request with the administrator's session. An X-Auth-Token or Authorization in the given
   * headers replaces this session.
   */
  ask(method: string, path: string, sent?: Sent): Promise<Received>;
  /** Sends a request without credentials. */
  anonymous(method: string, path: string, sent?: Sent): Promise<Received>;
  /**
   * Writes bytes to a connection.
   * @returns everything received until the connection closes.
   */
  raw(bytes: string): Promise<string>;
  /** Returns the body of a GET. @throws {Error} if the status is not 200. */
  get(path: string): Promise<Body>;
  /** Returns the paths of the members of a collection. */
  members(path: string): Promise<readonly string[]>;
  /** Creates a session for a user. */
  logIn(user: string, password: string): Promise<Received>;
  close(): Promise<void>;
}

/** Returns the names of the messages in a Redfish error or a resource, such as `PropertyUnknown`. */
export function messagesOf({ json }: Pick<Received, 'json'>): readonly string[] {
  const text = JSON.stringify(json ?? {});
  return Array.from(text.matchAll(/"MessageId":"[^"]*\.(\w+)"/g), ([, key = '']) => key);
}

/** Returns the body. @throws {Error} if it is no JSON object. */
export function bodyOf({ json }: Pick<Received, 'json'>): Body {
  if (typeof json !== 'object' || json === null) throw new Error(`no object: ${JSON.stringify(json)}`);
  return json as Body;
}

/**
 * Returns the value at a path of a body, such as `Boot.BootSourceOverrideTarget`; undefined if
 * absent.
 */
export function at(body: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) => (typeof value === 'object' && value !== null ? (value as Body)[name] : undefined),
      body,
    );
}

/** Returns the URI of the link at a path of a body, see {@link at}. @throws {Error} if there is none. */
export function linkIn(body: Body, path: string): string {
  const link = at(body, path);
  const uri = typeof link === 'object' && link !== null ? (link as Body)['@odata.id'] : undefined;
  if (typeof uri !== 'string') throw new Error(`no link at ${path}`);
  return uri;
}

/**
 * Starts the daemon, and logs in as administrator.
 * @param lines more lines of the configuration.
 * @throws {Error} with the faults of the configuration.
 */
export async function startRuleService(...lines: readonly string[]): Promise<RuleService> {
  const folder = new ConfigurationFolder();
  const users = folder.write('users', 'admin:$2y$04$0hxnz9bkZIMncnXv3EQ.yeZvFU9vlPkWUyVBgi99ssVla3nH69FIa\n');
  const { url, faults } = await folder.start(
    `EMULATOR_AUTH_FILE = '${users}'`,
    'EMULATOR_DMTF_STRICT = True',
    'EMULATOR_CONSOLE_SSH_PORT = 0',
    ...lines,
  );
  if (url === '') throw new Error(faults.join('; '));
  const client = clientAt(Number(new URL(url).port));
  const created = await client.send('POST', sessions, { body: administrator });
  const token = String(created.headers['x-auth-token']);
  const ask: RuleService['ask'] = (method, path, { headers = {}, ...rest } = {}) => {
    const own = 'X-Auth-Token' in headers || 'Authorization' in headers ? {} : { 'X-Auth-Token': token };
    return client.send(method, path, { ...rest, headers: { ...own, ...headers } });
  };
  const get = async (path: string): Promise<Body> => {
    const answer = await ask('GET', path);
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text}`);
    return bodyOf(answer);
  };
  return {
    port: client.port,
    ask,
    anonymous: (method, path, sent) => client.send(method, path, sent),
    raw: (bytes) => client.raw(bytes),
    get,
    members: async (path) => {
      const { Members } = await get(path);
      // The schema requires this property.
      return (Members as readonly { readonly '@odata.id': string }[]).map((member) => member['@odata.id']);
    },
    logIn: (UserName, Password) => client.send('POST', sessions, { body: { UserName, Password } }),
    close: () => folder.remove(),
  };
}
