/** A client that sends each request to a replica of its choice, as a balancer does. */
import { ADMIN, type Replica } from './replicas.js';

/** URI of the service root. */
export const root = '/redfish/v1';
/** URI of the collection of sessions. */
export const sessions = `${root}/SessionService/Sessions`;

/** An answer of a replica. `body` is an empty object if the answer has no body. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** Sends a request to a replica. @throws {Error} if there is no answer within two minutes. */
export async function send(
  { url }: Replica,
  method: string,
  uri: string,
  { body, headers = {} }: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> {
  const answer = await fetch(`${url}${uri}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(120_000),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>, // the service answers with objects
  };
}

/** Opens a session. @returns the header with its token, and its URI. @throws {Error} if the login fails. */
export async function logIn(
  replica: Replica,
  user: object = ADMIN,
): Promise<{ token: Record<string, string>; uri: string }> {
  const { status, headers } = await send(replica, 'POST', sessions, { body: user });
  if (status !== 201) throw new Error(`login: ${status}`);
  return { token: { 'x-auth-token': headers.get('x-auth-token') ?? '' }, uri: headers.get('location') ?? '' };
}

/** Returns the header of HTTP Basic authentication. */
export const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});
/** The header with the password of the administrator. */
export const admin = basic(ADMIN.UserName, ADMIN.Password);
/** Sends a GET to a replica. */
export const read = (replica: Replica, uri: string, headers: Record<string, string>): Promise<Answer> =>
  send(replica, 'GET', uri, { headers });
/** Returns the status of an answer. */
export const statusOf = async (answer: Promise<Answer>): Promise<number> => (await answer).status;
