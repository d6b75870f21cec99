/** Which deployment answers a request. Load balancing, cooldowns and fallbacks come with the next issue: {@link Router.select} is their seam. */
import type { Deployment } from '../providers/deployment.js';

/** Where one request goes. */
export interface Selection {
  readonly deployment: Deployment;
  /** The model group that was found, after aliases: header `x-litellm-model-group`. */
  readonly modelGroup: string;
  /** The upstream's name for the model, a wildcard filled in. */
  readonly upstreamModel: string;
}

export interface Router {
  /**
   * Finds the target for a public name: alias, exact group, a deployment's id, then the most specific wildcard.
   * @returns undefined: there is no such model.
   */
  select(model: string): Selection | undefined;
  /** Public names in the order of the configuration, once each, wildcards and aliases too. */
  readonly modelNames: readonly string[];
  /** All deployments of a group, by its public name or one of its aliases; empty: there is none. */
  deploymentsOf(model: string): readonly Deployment[];
}
