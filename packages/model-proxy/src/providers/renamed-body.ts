/**
 * Prepares the most common request, in which only the model's name changes. The names of the members
 * show whether a request is of this kind. This takes a fraction of the time that other requests need
 * (request-body.ts).
 */
import type { JsonMember, JsonObject } from '../json/object.js';
import { spliceJson } from '../json/splice.js';
import { PREVIOUS_RESPONSE } from './response-id.js';
import { planOf, type Plan, type RequestBodyOptions } from './deployment-plan.js';
import { checkedEndpoints, checkedParameters, isConsumed } from './parameters.js';

/**
 * Returns the body with the upstream's model name.
 * @returns undefined if the request may need other changes.
 */
export function renamedBody(object: JsonObject, options: RequestBodyOptions): Buffer[] | undefined {
  const { deployment, endpoint, upstreamModel } = options;
  const includesUsage = options.alwaysIncludeStreamUsage || options.countsUsage === true;
  const { path } = endpoint;
  const plan = planOf(deployment);
  if (!plan.changesModelOnly) return undefined;
  const { provider } = deployment;
  // A provider without `translationTriggers` may rewrite any member.
  if (provider.translate !== undefined && provider.translationTriggers === undefined) return undefined;
  const unchanged = unchangedNames(plan, path, upstreamModel);
  let model: JsonMember | undefined;
  for (const member of object.members) {
    const { key } = member;
    if (key === 'model') {
      // Two members `model`, or one with escapes. The caller has rejected such requests.
      if (model !== undefined || member.escaped) return undefined;
      model = member;
    } else if (includesUsage && key === 'stream') return undefined;
    else if (!unchanged.has(key)) {
      if (mayChange(key, options)) return undefined;
      if (unchanged.size < MAX_NAMES) unchanged.add(key);
    }
  }
  if (model === undefined) return undefined;
  if (provider.translationTriggers?.innerKeys.some((key) => object.innerKeys.mayHave(key)) === true) return undefined;

  const name = plan.upstreamModel === upstreamModel ? plan.modelText : Buffer.from(JSON.stringify(upstreamModel));
  const [only, second] = object.chunks;
  const { valueStart: start, valueEnd: end } = model;
  if (only === undefined || second !== undefined) return spliceJson(object, [{ start, end, replacement: name }]);
  return [only.subarray(0, start), name, only.subarray(end)];
}

/** Returns whether the request may need another change because of a member. */
function mayChange(key: string, { deployment, endpoint: { path }, upstreamModel }: RequestBodyOptions): boolean {
  const { provider } = deployment;
  if (key === PREVIOUS_RESPONSE || isConsumed(key, path)) return true;
  const isSupported = () => provider.supportedParameters(path, upstreamModel).has(key);
  if (checkedParameters(path).has(key) && !isSupported() && !planOf(deployment).allowedParameters.has(key)) return true;
  return provider.renamedParameters?.has(key) === true || provider.translationTriggers?.members.includes(key) === true;
}

/** Clients can send any name, so the number of cached names is limited. */
const MAX_NAMES = 200;

/** Returns the cached names of members that need no change. The caller may add names. */
function unchangedNames(plan: Plan, path: string, upstreamModel: string): Set<string> {
  // Which parameters are supported may depend on the model, so only names for the plan's own model are cached.
  if (plan.upstreamModel !== upstreamModel || !checkedEndpoints.includes(path)) return new Set();
  let names = plan.unchangedNames.get(path);
  if (names === undefined) plan.unchangedNames.set(path, (names = new Set()));
  return names;
}
