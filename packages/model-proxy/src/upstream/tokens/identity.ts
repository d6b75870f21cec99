/** Reads tokens of identity providers, which other services exchange for their own. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { parseJson } from '@rackless/daemon/text/json.js';
import type { IdentityIssuer, IdentityToken } from '../../providers/token.js';
import { sendSmall, type SmallPeer } from './small-request.js';
import { TokenFault } from './token-source.js';

const issued = z.object({ value: z.string() });

/**
 * Returns the token.
 * @throws {TokenFault} the provider gives no token.
 * @throws {ProxyError} the provider does not answer.
 * @throws {Error} the file is not readable, the answer is too large, or the request was aborted.
 */
export async function readIdentity(source: IdentityToken, peer: SmallPeer): Promise<string> {
  if ('text' in source) return source.text;
  if ('file' in source) return (await readFile(source.file, 'utf8')).trim();
  return issuedToken(source.issuer, peer);
}

/** Requests a token from an identity provider. @throws {TokenFault} the provider gives no token. */
async function issuedToken({ url, headers }: IdentityIssuer, peer: SmallPeer): Promise<string> {
  const { status, body } = await sendSmall(peer, { method: 'GET', url, headers, body: '' });
  const token = issued.safeParse(parseJson(body)).data?.value ?? body.trim();
  if (status === 200 && /^[\w.~+/=-]{1,32768}$/.test(token)) return token;
  const answered = status === 200 ? 'without a valid token' : String(status);
  throw new TokenFault(`needs a token of ${new URL(url).host}, which answered ${answered}`, { isRejection: false });
}
