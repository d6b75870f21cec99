/** The whole daemon as DMTF's validators meet it, for the tests of their rules: strict, with an account, machines in memory. */
import { clientAt, type Received, type Sent } from '../support/client.js';
import { ConfigurationFolder } from '../spec/configured.js';

export type Body = Readonly<Record<string, unknown>>;

export const root = '/redfish/v1';
export const sessions = `${root}/SessionService/Sessions`;
export const accounts = `${root}/AccountService/Accounts`;
export const roles = `${root}/AccountService/Roles`;

/** Of the only account. */
export const administrator = { UserName: 'admin', Password: 'secret' } as const;

export interface RuleService {
  readonly port: number;
  /** Sends with the administrator's session; other headers, such as another X-Auth-Token, take the place of its own. */
  ask(method: string, path: string, sent?: Sent): Promise<Received>;
  /** Sends as it is. */
  anonymous(method: string, path: string, sent?: Sent): Promise<Received>;
  /** Writes bytes to a connection. @returns all that comes before it is closed. */
  raw(bytes: string): Promise<string>;
  /** Body of a GET that is expected to be 200. */
  get(path: string): Promise<Body>;
  /** Paths of a collection's members. */
  members(path: string): Promise<readonly string[]>;
  /** A session of somebody else's. */
  logIn(user: string, password: string): Promise<Received>;
  close(): Promise<void>;
}

/** Names of messages of a Redfish error, or of a resource: `PropertyUnknown`. */
export function messagesOf({ json }: Pick<Received, 'json'>): readonly string[] {
  const text = JSON.stringify(json ?? {});
  return Array.from(text.matchAll(/"MessageId":"[^"]*\.(\w+)"/g), ([, key = '']) => key);
}

/** What an answer's body is: all of ours are objects. */
export function bodyOf({ json }: Pick<Received, 'json'>): Body {
  if (typeof json !== 'object' || json === null) throw new Error(`no object: ${JSON.stringify(json)}`);
  return json as Body;
}

/** The object, string, … at `Boot.BootSourceOverrideTarget` of a body; undefined where there is none. */
export function at(body: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) => (typeof value === 'object' && value !== null ? (value as Body)[name] : undefined),
      body,
    );
}

/** An address of a link. */
export function linkIn(body: Body, path: string): string {
  const link = at(body, path);
  const uri = typeof link === 'object' && link !== null ? (link as Body)['@odata.id'] : undefined;
  if (typeof uri !== 'string') throw new Error(`no link at ${path}`);
  return uri;
}

/** @param lines more lines of the configuration. */
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
      return (Members as readonly { readonly '@odata.id': string }[]).map((member) => member['@odata.id']); // As the schema has it.
    },
    logIn: (UserName, Password) => client.send('POST', sessions, { body: { UserName, Password } }),
    close: () => folder.remove(),
  };
}
