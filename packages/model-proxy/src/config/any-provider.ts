/** `model: "*"`: whatever is asked for, of the provider that its name begins with. */
import { knownProviders } from '../providers/index.js';
import { Findings, type Block } from './faults.js';
import type { FoundBlock } from './blocks.js';
import { foreignProviders } from './known-names.js';
import type { paramsTable } from './settings.js';
import { readTarget, type TargetOptions, type UpstreamTarget } from './upstream-target.js';

/**
 * Where each provider is asked for `<provider>/<model>`, for an entry that asks for `*`: at the entry's own address where it has
 * one, else at the provider's.
 * @returns null for a provider that we do not speak; undefined: the entry names one provider for all.
 */
export function targetsByProvider(
  block: Block<typeof paramsTable>,
  params: FoundBlock,
  { environment }: TargetOptions,
): ReadonlyMap<string, UpstreamTarget | null> | undefined {
  const { values } = block;
  if (values.model !== '*' || values.customLlmProvider !== undefined) return undefined;
  const targets = new Map<string, UpstreamTarget | null>();
  // At an address of its own the names may be anybody's.
  if (values.apiBase === undefined) for (const name of foreignProviders) targets.set(name, null);
  for (const name of knownProviders) {
    const asked = { ...block, values: { ...values, model: `${name}/*` } };
    // A provider that lacks a key or an address is no fault of an entry that does not name it.
    const target = readTarget(asked, params, { environment, findings: new Findings() });
    if (typeof target === 'object') targets.set(name, target);
  }
  return targets;
}
