/** The interface of model selection, which includes load balancing and cooldowns. */
import type { Deployment } from '../providers/deployment.js';

/** The result of model selection for one request. */
export interface Selection {
  readonly deployment: Deployment;
  /** The model group after aliases; sent as the header `x-litellm-model-group`. */
  readonly modelGroup: string;
  /** The upstream's name for the model; the stars of a wildcard are replaced. */
  readonly upstreamModel: string;
}

/**
 * The text of a session, or the bytes of the text in latin1. Bytes can be a view of the request's body, so they
 * are valid until `RequestBody.release`.
 */
export type Session = string | Buffer;

/** The part of a request that the choice depends on. */
export interface RoutedRequest {
  /** Keeps requests with the same text at the same deployment; null: no affinity. */
  readonly session: Session | null;
  /** Whether the client requests a stream of events. */
  readonly streams: boolean;
}

/** Model selection by public name. */
export interface Router {
  /**
   * Selects a deployment for a public name. Searches the name in this order: aliases, model groups, deployment
   * ids, wildcards (the most specific first), alias patterns (the most specific first). Prefers deployments
   * that do not cool down and are below their limits.
   * @param accepts returns whether a deployment may be chosen; absent: all may be chosen.
   * @param request absent: a request without affinity.
   * @returns undefined if there is no such model, if it is configured but cannot be served, or if no
   *   deployment is accepted.
   */
  select(model: string, accepts?: (selection: Selection) => boolean, request?: RoutedRequest): Selection | undefined;
  /** Returns all possible results of {@link select} for a name, in the order of the configuration. */
  candidates(model: string): readonly Selection[];
  /**
   * Public names without duplicates: first those of the deployments, also wildcards, in the order of the
   * configuration, then the aliases that are not hidden.
   */
  readonly modelNames: readonly string[];
  /**
   * Returns all deployments of a group by its public name or an alias; empty if there is no such
   * group.
   */
  deploymentsOf(model: string): readonly Deployment[];
}
