/** Finds the model groups that can get a request after another group has failed. */
import type { FailureKind } from '../errors/failure-kind.js';
import type { FallbackSettings, GroupFallbacks } from '../settings.js';

/** The fallbacks in a request's body, by LiteLLM's names. A member is undefined or null if the body has none. */
export interface RequestedFallbacks {
  readonly fallbacks: unknown;
  readonly contextWindow: unknown;
  readonly contentPolicy: unknown;
}

/** The key of the fallbacks for all groups that have none of their own. */
const ALL_GROUPS = '*';

/**
 * Returns the groups to try after a failure, in order. A request that exceeds the context window, or violates the
 * content policy, gets the fallbacks for that failure, or the general ones if there are none.
 * @param failure null: the proxy itself rejected the request for this group.
 * @param requested fallbacks of the client. They replace those of the configuration, even if their form is unknown.
 */
export function fallbacksOf(
  settings: FallbackSettings,
  requested: RequestedFallbacks,
  modelGroup: string,
  failure: FailureKind | null,
): readonly string[] {
  const special =
    failure === 'contextWindow'
      ? groupsIn(requested.contextWindow, modelGroup, settings.contextWindow)
      : failure === 'contentPolicy'
        ? groupsIn(requested.contentPolicy, modelGroup, settings.contentPolicy)
        : [];
  if (special.length > 0) return special;
  return groupsIn(requested.fallbacks, modelGroup, settings.general);
}

function groupsIn(requested: unknown, modelGroup: string, configured: GroupFallbacks): readonly string[] {
  if (requested === undefined || requested === null) return configuredFor(configured, modelGroup);
  const read = readFallbacks(requested);
  return read === undefined ? [] : 'list' in read ? read.list : configuredFor(read.groups, modelGroup);
}

const configuredFor = (configured: GroupFallbacks, modelGroup: string) =>
  configured.get(modelGroup) ?? configured.get(ALL_GROUPS) ?? [];

/** Fallbacks in one of LiteLLM's forms. */
type ReadFallbacks = { readonly list: readonly string[] } | { readonly groups: GroupFallbacks };

/**
 * Reads fallbacks: a list of names or of `{model: name}`, which is for every group, or a list of
 * `{group: [name, …]}`.
 * @returns undefined: the value has another form.
 */
export function readFallbacks(value: unknown): ReadFallbacks | undefined {
  if (!Array.isArray(value)) return undefined;
  const list = namesIn(value);
  if (list !== undefined) return { list };
  const groups = new Map<string, readonly string[]>();
  for (const item of value as readonly unknown[]) {
    if (typeof item !== 'object' || item === null) return undefined;
    for (const [group, names] of Object.entries<unknown>({ ...item })) {
      const read = Array.isArray(names) ? namesIn(names) : undefined;
      if (read === undefined) return undefined;
      groups.set(group, read);
    }
  }
  return { groups };
}

/** Returns the names in a list of names; undefined: an item is not a name. */
function namesIn(items: readonly unknown[]): readonly string[] | undefined {
  const names: string[] = [];
  for (const item of items) {
    const name = typeof item === 'object' && item !== null && 'model' in item ? item.model : item;
    if (typeof name !== 'string' || name === '') return undefined;
    names.push(name);
  }
  return names;
}
