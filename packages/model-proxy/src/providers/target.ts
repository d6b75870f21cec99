/** The types for providers that derive the target of a deployment from more settings than `api_base`. */
import { invalidParameter } from '../errors/model.js';
import type { Dialect } from './dialect.js';
import type { Translation, TranslationTriggers } from './request-members.js';
import type { TokenSettings } from './token.js';

/** The settings that may decide the target. */
export interface TargetSettings {
  /** `api_base` of the configuration or of the environment, without query and final slash; null: not set. */
  readonly apiBase: string | null;
  /** The query of `api_base`, without `?`; null: none. */
  readonly query: string | null;
  /** `api_key` of the entry; null: it has none. */
  readonly apiKey: string | null;
  /** The model's name without the provider's prefix. `*` in it is a wildcard. */
  readonly model: string;
  /**
   * Returns the first text that is set: a setting of `litellm_params`, then the environment variables.
   * undefined: none is set.
   * @param setting name in `litellm_params`; null: there is no such setting.
   */
  readonly value: (setting: string | null, ...variables: readonly string[]) => string | undefined;
}

/** The parts of a request that may decide its path. */
export interface CallTraits {
  /** The upstream's name for the model. */
  readonly model: string;
  /** Whether the client requests a stream. */
  readonly streams: boolean;
}

/** The API of some models of a provider. Its members replace those of the provider. */
export interface ModelApi {
  readonly dialect: Dialect;
  supportedParameters(endpoint: string): ReadonlySet<string>;
  headers?(apiKey: string | null): Readonly<Record<string, string>>;
  readonly translate?: Translation;
  readonly translationTriggers?: TranslationTriggers;
}

/** Values that a provider derives for a deployment. Absent members have their usual values. */
export interface ProviderTarget {
  /** Absolute URL without a slash at its end. */
  readonly apiBase: string;
  /** Query of all requests, without `?`; null: none. */
  readonly query?: string | null;
  /**
   * Returns the path of an endpoint below `apiBase`, without a slash at its beginning, if it differs
   * from OpenAI's. A query in it replaces {@link query}.
   */
  readonly pathOf?: (path: string, call: CallTraits) => string;
  /** Source of the access token of each request. */
  readonly token?: TokenSettings;
  /** The upstream's name for the model. */
  readonly upstreamModel?: string;
  /** More OpenAI parameters that the model supports. */
  readonly parameters?: readonly string[];
  /** null: no key is sent, not even one from the environment. */
  readonly apiKey?: null;
  /** Headers of all requests; names in lower case. Those of the configuration have priority. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields that the proxy adds to forms. */
  readonly formFields?: Readonly<Record<string, string>>;
  /** The API of the model, if it is not that of the provider. */
  readonly api?: ModelApi;
}

/**
 * Returns the target; a string: the reason why the proxy cannot serve the model; null: a setting is
 * missing, and the usual rules for `api_base` apply.
 */
export type TargetOf = (settings: TargetSettings) => ProviderTarget | string | null;

/**
 * Returns a model's name as a segment of a path. With a wildcard, clients choose the name.
 * @throws {ProxyError} 400: the segment would mean another path.
 */
export function segmentOf(name: string): string {
  // Some servers decode `%2F` before they resolve `..`.
  if (/^$|(?:^|[\\/])\.{1,2}(?:$|[\\/])/.test(name))
    throw invalidParameter('model', 'must be the name of a deployment');
  return encodeURIComponent(name);
}
