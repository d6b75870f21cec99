/** The client of the contract suites: requests, links and messages. */
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from '@jest/globals';

/** A parsed body. */
export type Body = Readonly<Record<string, unknown>>;

/** An answer of the service. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined without a body. */
  readonly body: Body | undefined;
}

/** Unused connections of this agent do not keep the process alive. */
const agent = new Agent({ keepAlive: true });

/**
 * Sends a request, and returns the answer. The suites send tens of thousands of requests, so it does
 * not use `fetch`, which needs three times the CPU time of `node:http`.
 */
export async function request(
  url: string,
  method: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  // Sends a string unchanged, so that a test can send invalid JSON.
  const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const length =
    sent === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(sent) };
  const outgoing = httpRequest(url, { method, agent, headers: { ...length, ...headers } });
  outgoing.end(sent);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]; // the documented arguments of this event
  const received = await text(response);
  return {
    status: response.statusCode ?? 0,
    headers: headersOf(response),
    body: received === '' ? undefined : (JSON.parse(received) as Body), // Redfish sends objects.
  };
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  }
  return headers;
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns an object member of a body. @throws {Error} if the member is no object. */
export function objectAt(body: Body, name: string): Body {
  const value = body[name];
  if (!isObject(value)) throw new Error(`reading ${name}: ${JSON.stringify(body)} has no such object`);
  return value;
}

function listAt(body: Body, name: string): readonly Body[] {
  const value = body[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns the links to the members of a collection. */
export function linksOf(collection: Body): readonly string[] {
  return listAt(collection, 'Members').map((member) => String(member['@odata.id']));
}

/** Returns a function that GETs a path and expects 200. */
export function getter(url: string): (path: string) => Promise<Body> {
  return async (path) => {
    const { status, body } = await request(`${url}${path}`, 'GET', undefined);
    expect({ path, status }).toEqual({ path, status: 200 });
    return body ?? {};
  };
}

/** Returns all bodies that are reachable from the service root, by path. */
export async function crawl(get: (path: string) => Promise<Body>): Promise<ReadonlyMap<string, Body>> {
  const found = new Map<string, Body>();
  const waiting = ['/redfish/v1'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    const body = await get(path);
    found.set(path, body);
    for (const [, link] of JSON.stringify(body).matchAll(/"(?:@odata\.id|@Redfish\.ActionInfo)":"([^"#]+)/g))
      if (link) waiting.push(link);
  }
  return found;
}

/** Returns the message keys of an error body, or of a resource with messages. */
export function messageIds(body: Body): readonly string[] {
  const holder = isObject(body['error']) ? body['error'] : body;
  return listAt(holder, '@Message.ExtendedInfo').map(({ MessageId }) => String(MessageId).split('.').at(-1) ?? '');
}
