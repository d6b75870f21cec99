/** Prepares the changes that a deployment makes to all request bodies. */
import type { Deployment } from './deployment.js';
import type { TranslatedCall } from './translation.js';
import { jsonMembers } from './request-members.js';
import { parseDropPath, type DropPath } from './drop-paths.js';

/** Options of `prepareRequestBody`. */
export interface RequestBodyOptions {
  readonly endpoint: { readonly path: string };
  readonly deployment: Deployment;
  /** The upstream's name for the model, without the provider's prefix. */
  readonly upstreamModel: string;
  /** Whether the proxy adds `stream_options.include_usage` to streamed requests that do not have it. */
  readonly alwaysIncludeStreamUsage: boolean;
  /** As `alwaysIncludeStreamUsage`, even if the client has set `include_usage` to false. */
  readonly countsUsage?: boolean | undefined;
  /** The translation to a dialect; null: OpenAI's API. */
  readonly translated: TranslatedCall | null;
}

/** The changes of a deployment, with values as JSON. Made once for each deployment. */
export interface Plan {
  readonly allowedParameters: ReadonlySet<string>;
  readonly dropPaths: readonly DropPath[];
  readonly defaults: readonly (readonly [string, Buffer])[];
  readonly extraBody: readonly (readonly [string, Buffer])[];
  /**
   * Whether the deployment changes only the model's name. The request may still need other changes
   * because of its own members.
   */
  readonly changesModelOnly: boolean;
  /** Path of an endpoint → names of members that need no change. Filled by requests. */
  readonly unchangedNames: Map<string, Set<string>>;
  readonly upstreamModel: string;
  /** `upstreamModel` as JSON. */
  readonly modelText: Buffer;
}

const plans = new WeakMap<Deployment, Plan>();

/** Returns the plan of a deployment. */
export function planOf(deployment: Deployment): Plan {
  let plan = plans.get(deployment);
  if (plan === undefined) {
    const dropPaths = deployment.additionalDropParams.map(parseDropPath);
    const defaults = jsonMembers(deployment.defaults);
    const extraBody = jsonMembers(deployment.extraBody);
    const { upstreamModel } = deployment;
    plan = {
      allowedParameters: new Set(deployment.allowedOpenaiParams),
      dropPaths,
      defaults,
      extraBody,
      changesModelOnly: dropPaths.length + defaults.length + extraBody.length === 0,
      unchangedNames: new Map(),
      upstreamModel,
      modelText: Buffer.from(JSON.stringify(upstreamModel)),
    };
    plans.set(deployment, plan);
  }
  return plan;
}
