/** OpenAI's dialect, and the many that speak it under a name of their own. */
import { checkedParameters, isOpenaiModel, renamedParameters, supportedParameters } from './parameters.js';
import type { Provider } from './provider.js';

/** What tells one of them from the others; anything that is left out it does not have. */
export interface OpenaiDialect {
  readonly name: string;
  readonly displayName?: string;
  readonly apiKeyEnvironment?: readonly string[];
  readonly apiBaseEnvironment?: readonly string[];
  readonly defaultApiBase?: string;
  readonly translate?: Provider['translate'];
}

/** A provider that is addressed as OpenAI is: `Authorization: Bearer`, JSON, the same paths. */
export function openaiDialect(dialect: OpenaiDialect): Provider {
  const { name, translate } = dialect;
  return {
    name,
    displayName: dialect.displayName ?? `${name.charAt(0).toUpperCase()}${name.slice(1)}Exception`,
    apiKeyEnvironment: dialect.apiKeyEnvironment ?? [],
    apiBaseEnvironment: dialect.apiBaseEnvironment ?? [],
    defaultApiBase: dialect.defaultApiBase ?? null,
    supportedParameters: (endpoint) => supportedParameters(name, endpoint),
    headers: (apiKey) => (apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    renamedParameters: renamedParameters(name),
    ...(translate === undefined ? {} : { translate }),
  };
}

/** OpenAI itself, and whatever speaks its language at another address: the name of the model tells which. */
export const openai: Provider = {
  ...openaiDialect({
    name: 'openai',
    displayName: 'OpenAIException',
    apiKeyEnvironment: ['OPENAI_API_KEY'],
    apiBaseEnvironment: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'],
    defaultApiBase: 'https://api.openai.com/v1',
  }),
  supportedParameters: (endpoint, upstreamModel) =>
    isOpenaiModel(upstreamModel) ? checkedParameters(endpoint) : supportedParameters('openai', endpoint),
};
