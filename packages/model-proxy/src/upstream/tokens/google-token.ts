/** Gets access tokens with Google's auth library: service accounts, workload identity, metadata servers. */
import { gaxios, GoogleAuth, type AuthClient, type JWTInput } from 'google-auth-library';
import { STATUS_CODES } from 'node:http';
import type { GoogleToken } from '../../providers/token.js';
import { sendSmall, type SmallPeer } from './small-request.js';
import { firstLine, TokenFault, type FetchedToken } from './token-source.js';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** Lifetime of a token whose expiry time the library does not report. */
const UNKNOWN_LIFETIME_MS = 300_000;

/**
 * Gets a token.
 * @throws {TokenFault} the credentials are rejected or not usable, or Google does not answer with a valid token.
 */
export async function fetchGoogleToken({ credentials }: GoogleToken, peer: SmallPeer): Promise<FetchedToken> {
  const client = await clientOf(credentials, peer);
  let token: string | null | undefined;
  try {
    ({ token } = await client.getAccessToken());
  } catch (error) {
    throw faultOf(error);
  }
  if (typeof token !== 'string' || !/^[\w.~+/=-]{1,32768}$/.test(token))
    throw new TokenFault('answered without a valid access_token', { isRejection: false });
  const { expiry_date: expiresAt } = client.credentials;
  const lifetimeMs = typeof expiresAt === 'number' ? expiresAt - Date.now() : UNKNOWN_LIFETIME_MS;
  if (!(lifetimeMs > 0)) throw new TokenFault('answered with an expired token', { isRejection: false });
  return { token, lifetimeMs };
}

/**
 * Makes a client without a stored token, so that the client requests a new one.
 * @throws {TokenFault} if the credentials cannot be used.
 */
async function clientOf(credentials: string | null, peer: SmallPeer): Promise<AuthClient> {
  const given = credentials?.trim();
  const isJson = given?.startsWith('{') === true;
  const transporterOptions = { fetchImplementation: fetchWith(peer), retryConfig: { retry: 0 } };
  /* oxlint-disable typescript/no-deprecated -- keys from strangers are unsafe; this key is the operator's */
  const auth = new GoogleAuth({
    scopes: SCOPE,
    clientOptions: { transporterOptions },
    ...(given === undefined || isJson ? {} : { keyFilename: given }),
    ...(isJson ? { credentials: keyOf(given) } : {}),
  });
  /* oxlint-enable typescript/no-deprecated */
  try {
    const client = await auth.getClient();
    useTransporter(client, new gaxios.Gaxios(transporterOptions));
    return client;
  } catch (error) {
    // The text of a JSON error contains a part of the key.
    const why = error instanceof SyntaxError ? 'the key is not valid JSON' : textOf(error);
    throw new TokenFault(`has no usable credentials: ${why}`, { isRejection: true });
  }
}

/**
 * Makes a client and its parts send their requests with a transporter. The library ignores
 * `transporterOptions` when it exchanges the token of an identity provider, and for impersonated accounts and
 * their sources.
 */
function useTransporter(client: object, transporter: gaxios.Gaxios): void {
  if ('transporter' in client) client.transporter = transporter;
  for (const name of ['stsCredential', 'sourceClient', 'supplierContext']) {
    const part: unknown = Reflect.get(client, name);
    if (typeof part === 'object' && part !== null) useTransporter(part, transporter);
  }
}

function keyOf(text: string): JWTInput {
  try {
    return JSON.parse(text) as JWTInput; // the library checks the members
  } catch {
    throw new TokenFault('has no usable credentials: vertex_credentials is not valid JSON', { isRejection: true });
  }
}

/** Returns a `fetch` that uses the connections of this proxy, with its TLS settings and its forward proxy. */
function fetchWith(peer: SmallPeer): typeof fetch {
  return async (input, init = {}) => {
    const request = new Request(input, init);
    const headers = Object.fromEntries(request.headers);
    delete headers['accept-encoding'];
    const body = await request.text();
    const answer = await sendSmall(peer, { method: request.method, url: request.url, headers, body });
    const { status } = answer;
    const made = new Response([204, 304].includes(status) ? null : answer.body, {
      status,
      statusText: STATUS_CODES[status] ?? '',
      headers: pairsOf(answer.headers),
    });
    Object.defineProperty(made, 'url', { value: request.url });
    return made;
  };
}

function pairsOf(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, index): [string, string][] => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : []));
}

/** Returns the first line of an error's text. */
const textOf = (error: unknown): string => firstLine(error instanceof Error ? error.message : String(error));

function faultOf(error: unknown): TokenFault {
  const status = statusOf(error);
  if (status === undefined)
    return new TokenFault(`gave no token: ${textOf(error)}`, { isRejection: false, cause: error });
  return new TokenFault(`answered ${status}: ${textOf(error)}`, { isRejection: [400, 401, 403].includes(status) });
}

/** Returns the status of the token server's answer; undefined: there is no answer. */
function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  return typeof error.status === 'number' ? error.status : undefined;
}
