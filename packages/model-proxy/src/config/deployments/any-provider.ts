/** Reads entries with `model: "*"`, which select the provider by the requested model's name. */
import { findProvider, knownProviders } from '../../providers/index.js';
import { Findings, type Block } from '../faults.js';
import type { FoundBlock } from '../blocks.js';
import { foreignProviders } from '../names/known-names.js';
import type { paramsTable } from '../settings.js';
import { OTHER_NAMES } from '../../providers/model-names.js';
import { readTarget, type TargetOptions, type UpstreamTarget } from './upstream-target.js';

/**
 * Returns the target of each provider for an entry with `model: "*"`. If the entry has an `api_base`, all targets
 * use this address and the entry's key. Otherwise, each target uses the address of its provider. Clients then choose
 * the address, so the proxy sends a key from an environment variable only to the provider of that variable.
 * @returns provider → target; undefined: the entry has another `model`, or names one provider for all models.
 *   Without an `api_base`, the target is null for {@link OTHER_NAMES}, and for a provider that the proxy cannot
 *   serve: its API is not implemented, or its address is unknown.
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
  const keyPlace = places.get('apiKey');
  const variable = keyPlace?.node.kind === 'scalar' ? keyPlace.node.variable : undefined;
  const hasAddress = values.apiBase !== undefined;
  const isKeyForAll = hasAddress || typeof values.apiKey !== 'string';
  const isKeyOf = (name: string) => variable !== undefined && findProvider(name).apiKeyEnvironment.includes(variable);
  if (!isKeyForAll && keyPlace !== undefined && !knownProviders.some(isKeyOf))
    findings.fault(
      keyPlace.node,
      keyPlace.path,
      'the provider of this key is unknown, because the entry is for any model: set custom_llm_provider or api_base, or remove api_key, so that each provider gets the key of its own variable',
    );
  for (const name of knownProviders) {
    // With an api_base, the client's choice of a name must not select a key from the environment.
    const entryKey = hasAddress ? (values.apiKey ?? null) : values.apiKey;
    const apiKey = isKeyForAll || isKeyOf(name) ? entryKey : undefined;
    const providerBlock = { ...block, values: { ...values, apiKey, model: `${name}/*` } };
    // A provider without a key or an address is not a fault, because the entry does not name it.
    const target = readTarget(providerBlock, params, {
      environment: hasAddress ? {} : environment,
      findings: new Findings(),
    });
    if (typeof target === 'object') targets.set(name, hasAddress ? withoutToken(target) : target);
    // Without this null, the router would treat `provider/name` as the whole name of another provider's model.
    else if (!hasAddress) targets.set(name, null);
  }
  return targets;
}

/** Removes the access token: it comes from the host (a variable, a file, a cloud's metadata), not from the entry. */
function withoutToken({ token: _token, ...target }: UpstreamTarget): UpstreamTarget {
  return target;
}
