/**
 * The commonest request: nothing of it changes but the model's name. Whether it is one is told by its members' names alone, in a
 * fraction of the time that it takes to prepare any other (request-body.ts).
 */
import type { JsonMember, JsonObject } from '../json/object.js';
import { spliceJson } from '../json/splice.js';
import { planOf } from './deployment-plan.js';
import { checkedParameters, isConsumed } from './parameters.js';
import type { RequestBodyOptions } from './request-body.js';

/** @returns undefined: it may be another request, and is to be prepared like one. */
export function renamedBody(object: JsonObject, options: RequestBodyOptions): Buffer[] | undefined {
  const { deployment, endpoint, upstreamModel, alwaysIncludeStreamUsage } = options;
  const { path } = endpoint;
  const plan = planOf(deployment);
  if (alwaysIncludeStreamUsage || !plan.changesNothing) return undefined;
  const { provider } = deployment;
  // A dialect that does not say what it rewrites may rewrite anything.
  if (provider.translate !== undefined && provider.translated === undefined) return undefined;
  const checked = checkedParameters(path);
  const supported = provider.supportedParameters(path, upstreamModel);
  let model: JsonMember | undefined;
  for (const member of object.members) {
    const { key } = member;
    if (key === 'model') {
      // Two of them, or one that another reader may not see: refused long before, and nothing to be quick about.
      if (model !== undefined || member.escaped) return undefined;
      model = member;
    } else if (isConsumed(key, path)) return undefined;
    else if (checked.has(key) && !supported.has(key) && !plan.allowed.has(key)) return undefined;
    else if (provider.renamedParameters?.has(key) === true) return undefined;
    else if (provider.translated?.members.includes(key) === true) return undefined;
  }
  if (model === undefined) return undefined;
  if (provider.translated?.innerKeys.some((key) => object.innerKeys.mayHave(key)) === true) return undefined;

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
