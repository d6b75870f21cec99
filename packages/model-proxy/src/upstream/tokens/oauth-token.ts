/** Gets tokens of OAuth 2.0 servers. @see RFC 6749 §4.4, §5 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '@rackless/daemon/text/json.js';
import type { OauthToken } from '../../providers/token.js';
import { readIdentity } from './identity.js';
import { sendSmall, type SmallPeer } from './small-request.js';
import { firstLine, TokenFault, type FetchedToken } from './token-source.js';

const granted = z.object({
  // Only these characters are valid in a bearer token (RFC 6750 §2.1).
  access_token: z.string().regex(/^[\w.~+/=-]{1,32768}$/),
  // Some servers send a string.
  expires_in: z.coerce.number().optional(),
  // Milliseconds since 1970, as GigaChat sends it.
  expires_at: z.number().optional(),
});
const rejected = z.object({ error: z.string(), error_description: z.string().optional() });

/** Lifetime of a token if the server does not send it. */
const UNKNOWN_LIFETIME_SECONDS = 300;

/**
 * Gets a token.
 * @throws {TokenFault} the server rejects the credentials, or its answer has no usable token.
 * @throws {ProxyError} the server does not answer.
 * @throws {Error} the server's answer is too large, or the request was aborted.
 * @throws the errors of {@link readIdentity}, if the server needs a token of another identity provider.
 */
export async function fetchOauthToken(settings: OauthToken, peer: SmallPeer): Promise<FetchedToken> {
  const { url, form, identityMember, idHeader, headers = {} } = settings;
  const members = new URLSearchParams(form);
  if (identityMember !== undefined) members.set(identityMember[0], await readIdentity(identityMember[1], peer));
  const { status, body } = await sendSmall(peer, {
    method: 'POST',
    url,
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
      ...(idHeader === undefined ? {} : { [idHeader]: randomUUID() }),
    },
    body: members.toString(),
  });
  const answer = parseJson(body);
  if (status !== 200) {
    const { data } = rejected.safeParse(answer);
    const reason = data === undefined ? '' : ` ${[data.error, data.error_description ?? ''].join(': ')}`;
    // 400 is the status for wrong credentials (RFC 6749 §5.2).
    const isRejection = [400, 401, 403].includes(status);
    throw new TokenFault(`answered ${status}${withoutSecrets(reason, members)}`, { isRejection });
  }
  const { data } = granted.safeParse(answer);
  if (data === undefined) throw new TokenFault('answered without a valid access_token', { isRejection: false });
  const { access_token: token, expires_at: end, expires_in: given } = data;
  const seconds = given ?? (end === undefined ? UNKNOWN_LIFETIME_SECONDS : (end - Date.now()) / 1000);
  if (!(seconds > 0)) throw new TokenFault('answered with an expired token', { isRejection: false });
  return { token, lifetimeMs: seconds * 1000 };
}

/** Returns the first line of a server's reason without the secrets of the form, which a server may repeat. */
function withoutSecrets(reason: string, members: URLSearchParams): string {
  let text = reason;
  for (const [name, value] of members)
    if (/secret|assertion|password|apikey/.test(name) && value !== '') text = text.replaceAll(value, '****');
  return firstLine(text);
}
