/** Makes providers with OpenAI's API, and defines OpenAI itself. */
import {
  checkedEndpoints,
  checkedParameters,
  isOpenaiModel,
  renamedParameters,
  supportedParameters,
  unchecked,
} from '../parameters.js';
import type { Provider } from '../provider.js';
import type { TargetOf } from '../target.js';

/** The differences between providers with OpenAI's API. */
interface OpenaiApiOptions {
  readonly name: string;
  readonly exceptionName?: string;
  readonly apiKeyEnvironment?: readonly string[];
  readonly apiBaseEnvironment?: readonly string[];
  readonly defaultApiBase?: string;
  /** The header with the key, without a scheme; absent: `Authorization: Bearer`. */
  readonly keyHeader?: string;
  readonly targetOf?: TargetOf;
  /** As in {@link Provider}. */
  readonly anthropicEndpoints?: readonly string[];
  /** As in {@link Provider}. */
  readonly modelParameters?: readonly string[];
  /** Changes that the lists in parameters.json cannot express. */
  readonly translation?: Required<Pick<Provider, 'translate' | 'translationTriggers'>>;
}

/** Makes a provider with OpenAI's API. */
export function openaiApiProvider(options: OpenaiApiOptions): Provider {
  const { name, keyHeader, targetOf, anthropicEndpoints, modelParameters, translation } = options;
  // Caches only endpoints with a list of checked parameters. Clients choose the paths of all other endpoints, so a
  // cache of these would grow without a limit.
  const supported = new Map(checkedEndpoints.map((endpoint) => [endpoint, supportedParameters(name, endpoint)]));
  return {
    name,
    exceptionName: options.exceptionName ?? `${name.charAt(0).toUpperCase()}${name.slice(1)}Exception`,
    apiKeyEnvironment: options.apiKeyEnvironment ?? [],
    apiBaseEnvironment: options.apiBaseEnvironment ?? [],
    defaultApiBase: options.defaultApiBase ?? null,
    supportedParameters: (endpoint) => supported.get(endpoint) ?? unchecked,
    headers: (apiKey) => {
      if (apiKey === null) return {};
      return keyHeader === undefined ? { authorization: `Bearer ${apiKey}` } : { [keyHeader]: apiKey };
    },
    renamedParameters: renamedParameters(name),
    ...(targetOf === undefined ? {} : { targetOf }),
    ...(anthropicEndpoints === undefined ? {} : { anthropicEndpoints }),
    ...(modelParameters === undefined ? {} : { modelParameters }),
    ...translation,
  };
}

const listedOpenai = openaiApiProvider({
  name: 'openai',
  exceptionName: 'OpenAIException',
  apiKeyEnvironment: ['OPENAI_API_KEY'],
  apiBaseEnvironment: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'],
  defaultApiBase: 'https://api.openai.com/v1',
});

/**
 * OpenAI, and servers with OpenAI's API at another address. The name of the model decides which
 * parameters are supported.
 */
export const openai: Provider = {
  ...listedOpenai,
  supportedParameters: (endpoint, upstreamModel) =>
    isOpenaiModel(upstreamModel)
      ? checkedParameters(endpoint)
      : listedOpenai.supportedParameters(endpoint, upstreamModel),
};
