/**
 * Endpoints of Anthropic's API that the server of a deployment also has. Only recent versions of some
 * model servers have them, so the configuration must name them.
 */
import type { Provider } from '../provider.js';

const endpoints: readonly string[] = ['messages', 'messages/count_tokens'];

/**
 * Returns the provider with the endpoints in `model_info.supported_endpoints`, which is LiteLLM's name.
 * @returns the same object if the information names no endpoint of Anthropic's API, or if the provider
 *   has a dialect.
 */
export function withNativeEndpoints(provider: Provider, modelInfo: Readonly<Record<string, unknown>>): Provider {
  const supported = modelInfo['supported_endpoints'];
  if (!Array.isArray(supported) || provider.dialect !== undefined) return provider;
  const added = endpoints.filter((path) => supported.includes(`/v1/${path}`));
  return added.length === 0
    ? provider
    : { ...provider, anthropicEndpoints: [...(provider.anthropicEndpoints ?? []), ...added] };
}
