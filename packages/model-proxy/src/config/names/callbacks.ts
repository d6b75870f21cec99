/** LiteLLM's callbacks that this proxy implements. They are only addresses, and run no code. */
import type { YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

/** The settings that list callbacks. */
const callbackSettings: ReadonlySet<string> = new Set(['callbacks', 'success_callback', 'failure_callback']);

/** `prometheus` is always available at `/metrics`. */
const implemented: ReadonlySet<string> = new Set(['otel', 'langfuse_otel', 'prometheus']);

/** Returns whether an item of a setting is a callback that this proxy implements. */
export function isImplementedCallback(setting: string, item: YamlNode): boolean {
  const name = nameOf(item);
  return callbackSettings.has(setting) && name !== undefined && implemented.has(name);
}

/** Returns the names of all callbacks in a block. @param entries its keys and values. */
export function callbackNames(entries: readonly (readonly [string, YamlNode])[]): ReadonlySet<string> {
  const lists = entries.filter(([key]) => callbackSettings.has(key)).map(([, node]) => node);
  const items = lists.flatMap((node) => (node.kind === 'sequence' ? node.items : [node]));
  return new Set(items.flatMap((item) => nameOf(item) ?? []));
}

const nameOf = (item: YamlNode) => (item.kind === 'scalar' && typeof item.value === 'string' ? item.value : undefined);
