/** OpenAI's dialect, and the many that speak it under a name of their own. */
import {
  checkedEndpoints,
  checkedParameters,
  isOpenaiModel,
  renamedParameters,
  supportedParameters,
} from './parameters.js';
import type { Provider } from './provider.js';

const none: ReadonlySet<string> = new Set();

/** What tells one of them from the others; anything that is left out it does not have. */
export interface OpenaiDialect {
  readonly name: string;
  readonly displayName?: string;
  readonly apiKeyEnvironment?: readonly string[];
  readonly apiBaseEnvironment?: readonly string[];
  readonly defaultApiBase?: string;
  /** What needs more than lists of names. */
  readonly translation?: Required<Pick<Provider, 'translate' | 'translated'>>;
}

/** A provider that is addressed as OpenAI is: `Authorization: Bearer`, JSON, the same paths. */
export function openaiDialect(dialect: OpenaiDialect): Provider {
  const { name, translation } = dialect;
  // Endpoints come from paths that clients choose: only those with a list of their own are remembered.
  const supported = new Map(checkedEndpoints.map((endpoint) => [endpoint, supportedParameters(name, endpoint)]));
  return {
    name,
    displayName: dialect.displayName ?? `${name.charAt(0).toUpperCase()}${name.slice(1)}Exception`,
    apiKeyEnvironment: dialect.apiKeyEnvironment ?? [],
    apiBaseEnvironment: dialect.apiBaseEnvironment ?? [],
    defaultApiBase: dialect.defaultApiBase ?? null,
    supportedParameters: (endpoint) => supported.get(endpoint) ?? none,
    headers: (apiKey) => (apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    renamedParameters: renamedParameters(name),
    ...translation,
  };
}

const dialect = openaiDialect({
  name: 'openai',
  displayName: 'OpenAIException',
  apiKeyEnvironment: ['OPENAI_API_KEY'],
  apiBaseEnvironment: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'],
  defaultApiBase: 'https://api.openai.com/v1',
});

/** OpenAI itself, and whatever speaks its language at another address: the name of the model tells which. */
export const openai: Provider = {
  ...dialect,
  supportedParameters: (endpoint, upstreamModel) =>
    isOpenaiModel(upstreamModel) ? checkedParameters(endpoint) : dialect.supportedParameters(endpoint, upstreamModel),
};
