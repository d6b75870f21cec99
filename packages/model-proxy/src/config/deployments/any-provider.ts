/** `model: "*"`: an entry for any model, which selects the provider by the model's name. */
import { findProvider, knownProviders } from '../../providers/index.js';
import { Findings, type Block } from '../faults.js';
import type { FoundBlock } from '../blocks.js';
import { foreignProviders } from '../names/known-names.js';
import type { paramsTable } from '../settings.js';
import { OTHER_NAMES } from '../../providers/model-names.js';
import { readTarget, type TargetOptions, type UpstreamTarget } from './upstream-target.js';

/**
 * Returns the target of each provider for an entry with `model: "*"`. All use the entry's
 * `api_base` if it has one, otherwise the provider's address. As clients choose the provider, a key
 * from an environment variable is sent only to the provider that this variable belongs to.
 * @returns null as the target of a provider whose API is not implemented, and of
 * {@link OTHER_NAMES}. Undefined if the entry names one provider for all models.
 */
export function targetsByProvider(
  block: Block<typeof paramsTable>,
  params: FoundBlock,
  { environment, findings }: TargetOptions,
): ReadonlyMap<string, UpstreamTarget | null> | undefined {
  const { values, places } = block;
  if (values.model !== '*' || values.customLlmProvider !== undefined) return undefined;
  const targets = new Map<string, UpstreamTarget | null>();
  // With an api_base, the names belong to that server, so none is excluded.
  if (values.apiBase === undefined) for (const name of [...foreignProviders, OTHER_NAMES]) targets.set(name, null);
  const given = places.get('apiKey');
  const variable = given?.node.kind === 'scalar' ? given.node.variable : undefined;
  const hasAddress = values.apiBase !== undefined;
  const isForAll = hasAddress || typeof values.apiKey !== 'string';
  const isKeyOf = (name: string) => variable !== undefined && findProvider(name).apiKeyEnvironment.includes(variable);
  if (!isForAll && given !== undefined && !knownProviders.some(isKeyOf))
    findings.fault(
      given.node,
      given.path,
      'for any model, the provider of this key is not known: name it by custom_llm_provider or api_base, or leave the key out, and each provider gets the key of its own variable',
    );
  for (const name of knownProviders) {
    // With an api_base, the client's choice of a name must not select a key from the environment.
    const own = hasAddress ? (values.apiKey ?? null) : values.apiKey;
    const apiKey = isForAll || isKeyOf(name) ? own : undefined;
    const asked = { ...block, values: { ...values, apiKey, model: `${name}/*` } };
    // Providers without a key or an address are no fault, because the entry does not name them.
    const target = readTarget(asked, params, { environment, findings: new Findings() });
    if (typeof target === 'object') targets.set(name, target);
  }
  return targets;
}
