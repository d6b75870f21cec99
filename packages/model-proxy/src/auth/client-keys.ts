/** Authenticates clients: finds the key in a request, and compares it with the master key and the virtual keys. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { noKeyPassed, wrongKeyPassed } from '../errors/access.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { Authenticate, Client } from './authenticate.js';

/** Finds the client of a virtual key. @returns undefined: there is no such key; an error: it is not valid now. */
export type FindClient = (key: string) => Client | ProxyError | undefined;

/**
 * Headers for keys besides Authorization. The clients of LiteLLM, Azure, Anthropic and Google use one
 * each.
 */
const keyHeaders = ['x-litellm-api-key', 'api-key', 'x-api-key', 'x-goog-api-key'];

/**
 * Creates the authentication for a configuration with a master key.
 * @param masterKeys at least one; no key is empty.
 * @param findClient finds the client of a virtual key; null: there are no virtual keys.
 */
export function requireKeys(masterKeys: ReadonlySet<string>, findClient: FindClient | null): Authenticate {
  // timingSafeEqual needs equal lengths, and all digests have the same length. The time of a
  // comparison reveals nothing about the key.
  const keyDigests = [...masterKeys].map(digestOf);
  // Master keys that were accepted before. A Set lookup takes the same time for every wrong key: V8 compares
  // strings only if their hashes are equal, and clients cannot choose these hashes because V8 seeds
  // them.
  const accepted = new Set<string>();
  return ({ headers }, elsewhere) => {
    const key = presentedKey(headers) ?? elsewhere;
    if (key === undefined) return noKeyPassed();
    if (accepted.has(key)) return masterKeyClient;
    const found = findClient?.(key);
    if (found !== undefined) return found;
    const presented = digestOf(key);
    let isMasterKey = false;
    for (const digest of keyDigests) isMasterKey = timingSafeEqual(digest, presented) || isMasterKey;
    if (!isMasterKey) return wrongKeyPassed();
    accepted.add(key);
    return masterKeyClient;
  };
}

const masterKeyClient: Client = { alias: null };

function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/**
 * Finds the client's key: in LiteLLM's header, in Authorization, then in the other headers; undefined: there is
 * none. LiteLLM's header comes first because, with it, Authorization may contain a key for another service.
 */
function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const litellmKey = headers['x-litellm-api-key'];
  if (typeof litellmKey === 'string' && litellmKey !== '') return withoutScheme(litellmKey);
  if (headers.authorization !== undefined && headers.authorization !== '') return withoutScheme(headers.authorization);
  for (const name of keyHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

/**
 * Prefix of a key in Sec-WebSocket-Protocol, as OpenAI defines it: browsers cannot set other
 * headers for a WebSocket.
 */
export const KEY_SUBPROTOCOL = 'openai-insecure-api-key.';

/** Returns the protocols that a client offers for a WebSocket; empty for other requests. */
export function subprotocols(headers: IncomingHttpHeaders): readonly string[] {
  const offered = headers['sec-websocket-protocol'] ?? '';
  return offered === '' ? [] : offered.split(',').map((protocol) => protocol.trim());
}

/** Returns the key among the subprotocols of a WebSocket handshake; undefined: there is none. */
export function subprotocolKey(headers: IncomingHttpHeaders): string | undefined {
  const offered = subprotocols(headers).find((protocol) => protocol.startsWith(KEY_SUBPROTOCOL));
  return offered?.slice(KEY_SUBPROTOCOL.length);
}

function withoutScheme(value: string): string {
  return value.replace(/^Bearer +/i, '');
}
