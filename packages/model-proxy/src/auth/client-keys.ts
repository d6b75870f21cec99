/** Clients that must present a key: one of a few that the configuration knows. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { noKeyPassed, wrongKeyPassed } from '../errors.js';
import type { Authenticate, Client } from './authenticate.js';

/** Azure's, Anthropic's and LiteLLM's clients each have a header of their own. */
const keyHeaders = ['x-litellm-api-key', 'api-key', 'x-api-key'];

/** @param keys that are accepted; at least one, none of them empty. */
export function requireKeys(keys: ReadonlySet<string>): Authenticate {
  // Digests are of one length, which timingSafeEqual wants, and their bytes are of no use to who measures the time of a comparison.
  const known = [...keys].map(digestOf);
  // Those that were right before. A look into a Set takes the same time for every wrong key, as V8 compares texts only where their
  // hashes, which nobody outside can choose, are equal.
  const accepted = new Set<string>();
  return ({ headers }, offered) => {
    const key = presentedKey(headers) ?? offeredKey(offered);
    if (key === undefined) return noKeyPassed();
    if (accepted.has(key)) return somebody;
    const presented = digestOf(key);
    let found = false;
    for (const digest of known) found = timingSafeEqual(digest, presented) || found;
    if (!found) return wrongKeyPassed();
    accepted.add(key);
    return somebody;
  };
}

const somebody: Client = { alias: null };

function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** LiteLLM's own header first: with it, Authorization may be for somebody else. */
function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const own = headers['x-litellm-api-key'];
  if (typeof own === 'string' && own !== '') return withoutScheme(own);
  if (headers.authorization !== undefined && headers.authorization !== '') return withoutScheme(headers.authorization);
  for (const name of keyHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

function offeredKey(offered: readonly string[] | undefined): string | undefined {
  return offered?.find((protocol) => protocol.startsWith(KEY_SUBPROTOCOL))?.slice(KEY_SUBPROTOCOL.length);
}

/** Browsers can send no header of their own with a WebSocket: OpenAI takes the key as one of the protocols that are offered. */
export const KEY_SUBPROTOCOL = 'openai-insecure-api-key.';

/** What a client offers in Sec-WebSocket-Protocol; empty for anything else than a WebSocket. */
export function subprotocols(headers: IncomingHttpHeaders): readonly string[] {
  const offered = headers['sec-websocket-protocol'] ?? '';
  return offered === '' ? [] : offered.split(',').map((protocol) => protocol.trim());
}

function withoutScheme(value: string): string {
  return value.replace(/^Bearer +/i, '');
}
