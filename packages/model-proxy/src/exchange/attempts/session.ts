/** Finds the session of a request. A session is a text: requests with the same text go to the same deployment. */
import type { AffinityKind } from '../../settings.js';
import type { Session } from '../../routing/router.js';
import type { Exchange } from '../exchange.js';
import type { RequestBody } from '../request/request-body.js';

/** LiteLLM's header for a session, and the header of other gateways. */
const sessionHeaders = ['x-litellm-session-id', 'x-session-id'];
/** The members with a prompt. */
const prompts = ['messages', 'prompt', 'input'];
/** Prompts with the same beginning of this size are one session: an upstream can reuse its cache. */
const PROMPT_BYTES = 1024;

/**
 * Returns the session of a request: the first of these that the request has. Each counts only with the configured
 * affinity in parentheses: a session header (`session`), the member `user` (`session` or `user`), the virtual key
 * (`user`), the first bytes of the prompt (`prompt`).
 * @returns null: there is none of them.
 */
export function sessionOf(
  affinity: ReadonlySet<AffinityKind>,
  { request, client }: Pick<Exchange, 'request' | 'client'>,
  body: RequestBody,
): Session | null {
  if (affinity.size === 0) return null;
  if (affinity.has('session'))
    for (const name of sessionHeaders) {
      const value = request.headers[name];
      if (typeof value === 'string' && value !== '') return value;
    }
  if (affinity.has('session') || affinity.has('user')) {
    const user = body.parameter('user');
    if (typeof user === 'string' && user !== '') return user;
  }
  if (affinity.has('user') && client?.key !== undefined) return client.key.digest;
  if (!affinity.has('prompt')) return null;
  for (const name of prompts) {
    const beginning = body.beginning(name, PROMPT_BYTES);
    if (beginning !== undefined) return beginning;
  }
  return null;
}
