/**
 * Prepares the most common request, in which only the model's name changes. The names of the members
 * show whether a request is of this kind. This takes a fraction of the time that other requests need
 * (request-body.ts).
 */
import type { JsonMember, JsonObject } from '../json/object.js';
import { spliceJson } from '../json/splice.js';
import { PREVIOUS_RESPONSE } from './response-id.js';
import { planOf, type RequestBodyOptions } from './deployment-plan.js';
import { checkedParameters, isConsumed } from './parameters.js';

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
  const checked = checkedParameters(path);
  const supported = provider.supportedParameters(path, upstreamModel);
  let model: JsonMember | undefined;
  for (const member of object.members) {
    const { key } = member;
    if (key === 'model') {
      // Two members `model`, or one with escapes. The caller has rejected such requests.
      if (model !== undefined || member.escaped) return undefined;
      model = member;
    } else if (key === PREVIOUS_RESPONSE) return undefined;
    else if (isConsumed(key, path) || (includesUsage && key === 'stream')) return undefined;
    else if (checked.has(key) && !supported.has(key) && !plan.allowedParameters.has(key)) return undefined;
    else if (provider.renamedParameters?.has(key) === true) return undefined;
    else if (provider.translationTriggers?.members.includes(key) === true) return undefined;
  }
  if (model === undefined) return undefined;
  if (provider.translationTriggers?.innerKeys.some((key) => object.innerKeys.mayHave(key)) === true) return undefined;

  const name = plan.upstreamModel === upstreamModel ? plan.modelText : Buffer.from(JSON.stringify(upstreamModel));
  const [only, second] = object.chunks;
  const { valueStart: start, valueEnd: end } = model;
  if (only === undefined || second !== undefined) return spliceJson(object, [{ start, end, replacement: name }]);
  const body = Buffer.allocUnsafe(only.length - (end - start) + name.length);
  only.copy(body, 0, 0, start);
  name.copy(body, start);
  only.copy(body, start + name.length, end);
  return [body];
}
