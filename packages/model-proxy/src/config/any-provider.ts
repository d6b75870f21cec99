/** `model: "*"`: any model, at the provider that its name tells. */
import { findProvider, knownProviders } from '../providers/index.js';
import { Findings, type Block } from './faults.js';
import type { FoundBlock } from './blocks.js';
import { foreignProviders } from './known-names.js';
import type { paramsTable } from './settings.js';
import { OTHER_NAMES } from '../providers/model-names.js';
import { readTarget, type TargetOptions, type UpstreamTarget } from './upstream-target.js';

/**
 * Returns where each provider is asked for `<provider>/<model>`, for an entry that asks for `*`: at the entry's own address if
 * it has one, else at the provider's. A key goes to the provider whose variable it comes from, and to no other: a client chooses the provider.
 * @returns null for a provider whose API is not implemented, and for {@link OTHER_NAMES}; undefined: the entry names one provider for all.
 */
export function targetsByProvider(
  block: Block<typeof paramsTable>,
  params: FoundBlock,
  { environment, findings }: TargetOptions,
): ReadonlyMap<string, UpstreamTarget | null> | undefined {
  const { values, places } = block;
  if (values.model !== '*' || values.customLlmProvider !== undefined) return undefined;
  const targets = new Map<string, UpstreamTarget | null>();
  // At an address of its own the names may be anybody's.
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
    // At an address of its own, a name that a client chooses must not choose a key of the environment.
    const own = hasAddress ? (values.apiKey ?? null) : values.apiKey;
    const apiKey = isForAll || isKeyOf(name) ? own : undefined;
    const asked = { ...block, values: { ...values, apiKey, model: `${name}/*` } };
    // A provider that lacks a key or an address is no fault of an entry that does not name it.
    const target = readTarget(asked, params, { environment, findings: new Findings() });
    if (typeof target === 'object') targets.set(name, target);
  }
  return targets;
}
