/** Answers requests that ask for a number of tokens which the upstream cannot count. */
import type { Endpoint } from '../../endpoints/endpoint.js';
import { estimateTokens } from '../../providers/messages/token-estimate.js';
import { requestValue } from '../../providers/request-members.js';
import { needsTokenEstimate } from '../../providers/translation.js';
import { answerJson } from '../answer/answer-json.js';
import type { Exchange } from '../exchange.js';
import type { RequestBody } from '../request/request-body.js';

/**
 * Estimates the number of tokens, and sends it in the form of Anthropic's answer.
 * @throws {ProxyError} 400: a member has too many objects and arrays.
 * @returns false: the request does not ask for a number of tokens, or the upstream counts them.
 */
export function answerEstimate(exchange: Exchange, { path }: Endpoint, body: RequestBody): boolean {
  const { selection } = exchange;
  if (selection === null || !needsTokenEstimate(selection.deployment.provider, path)) return false;
  const value = (name: string): unknown => {
    const text = body.beginning(name, Number.MAX_SAFE_INTEGER);
    return text === undefined ? undefined : requestValue(name, text);
  };
  const counted = { system: value('system'), messages: value('messages'), tools: value('tools') };
  answerJson(exchange, 200, { input_tokens: estimateTokens(counted) });
  return true;
}
