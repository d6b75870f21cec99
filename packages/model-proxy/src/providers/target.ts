/** Derives the address of a deployment from its settings, for providers that need more than `api_base`. */

/** The settings that may decide the address. */
export interface TargetSettings {
  /** `api_base` of the configuration or of the environment, without query and final slash; null: not set. */
  readonly apiBase: string | null;
  /** The model's name without the provider's prefix. `*` in it is a wildcard. */
  readonly model: string;
  /**
   * Returns the first text that is set: a setting of `litellm_params`, then the environment variables.
   * undefined: none is set.
   * @param setting name in `litellm_params`; null: there is no such setting.
   */
  readonly value: (setting: string | null, ...variables: readonly string[]) => string | undefined;
}

/** What a provider derives. Absent members have their usual values. */
interface ProviderTarget {
  /** Absolute URL without a slash at its end. */
  readonly apiBase: string;
  /** The upstream's name for the model. */
  readonly upstreamModel?: string;
}

/**
 * Returns the target; a string: the reason why the proxy cannot serve the model; null: a setting is
 * missing, and the usual rules for `api_base` apply.
 */
export type TargetOf = (settings: TargetSettings) => ProviderTarget | string | null;
