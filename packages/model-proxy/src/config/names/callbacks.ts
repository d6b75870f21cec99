/**
 * LiteLLM's callbacks that this proxy implements. They only name receivers of metrics, traces and
 * reports, and run no code.
 */
import type { YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

/** The settings that list callbacks. */
const callbackSettings: ReadonlySet<string> = new Set(['callbacks', 'success_callback', 'failure_callback']);

/** The names of the implemented callbacks. `prometheus` changes nothing, because `/metrics` always has the metrics. */
const implemented: ReadonlySet<string> = new Set([
  'otel',
  'langfuse_otel',
  'prometheus',
  'generic_api',
  'generic',
  'webhook',
]);

/**
 * Returns whether an item of a setting is a callback that this proxy implements.
 * @param configured names of the entries of `callback_settings` with the type `generic_api`.
 */
export function isImplementedCallback(setting: string, item: YamlNode, configured: ReadonlySet<string>): boolean {
  const name = nameOf(item);
  return callbackSettings.has(setting) && name !== undefined && (implemented.has(name) || configured.has(name));
}

/** The outcomes of requests that callbacks get reports about, by the setting that lists the callbacks. */
const outcomesOf: Readonly<Record<string, readonly ('success' | 'failure')[]>> = {
  callbacks: ['success', 'failure'],
  success_callback: ['success'],
  failure_callback: ['failure'],
};

/**
 * Returns the callbacks in a block of the configuration, such as `litellm_settings`, with the outcomes
 * that they get reports about.
 * @param entries the keys and values of the block.
 */
export function callbackOutcomes(
  entries: readonly (readonly [string, YamlNode])[],
): ReadonlyMap<string, ReadonlySet<'success' | 'failure'>> {
  const found = new Map<string, Set<'success' | 'failure'>>();
  for (const entry of entries) {
    const [setting] = entry;
    for (const name of callbackNames([entry])) {
      const outcomes = found.get(name) ?? new Set();
      found.set(name, outcomes);
      for (const outcome of outcomesOf[setting] ?? []) outcomes.add(outcome);
    }
  }
  return found;
}

/**
 * Returns the names of all callbacks in a block of the configuration, such as `litellm_settings`.
 * @param entries the keys and values of the block.
 */
export function callbackNames(entries: readonly (readonly [string, YamlNode])[]): ReadonlySet<string> {
  const lists = entries.filter(([key]) => callbackSettings.has(key)).map(([, node]) => node);
  const items = lists.flatMap((node) => (node.kind === 'sequence' ? node.items : [node]));
  return new Set(items.flatMap((item) => nameOf(item) ?? []));
}

const nameOf = (item: YamlNode) => (item.kind === 'scalar' && typeof item.value === 'string' ? item.value : undefined);
