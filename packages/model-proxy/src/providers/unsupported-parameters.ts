import { ProxyError } from '../errors.js';

/**
 * A request has parameters that its upstream does not understand, and nobody said to leave them out.
 * @param names in the order of the request.
 * @returns 400 with LiteLLM's words: clients and their users look for them.
 */
export function unsupportedParameters(names: readonly string[], provider: string, upstreamModel: string): ProxyError {
  // As Python prints a list.
  const list = `[${names.map((name) => `'${name}'`).join(', ')}]`;
  return new ProxyError({
    status: 400,
    kind: 'request',
    param: names[0] ?? null,
    message:
      `litellm.UnsupportedParamsError: ${provider} does not support parameters: ${list}, for model=${upstreamModel}. ` +
      'To drop these, set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: true`\n. ' +
      `\n If you want to use these params dynamically send allowed_openai_params=${list} in your request.`,
  });
}
