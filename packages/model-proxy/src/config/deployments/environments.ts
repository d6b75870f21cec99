/** Entries of `model_list` that only some environments serve. */
import type { KeyPath, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';
import type { TargetOptions } from './upstream-target.js';

const names: readonly unknown[] = ['development', 'staging', 'production'];
const listed = names.join(', ');

/**
 * Returns whether this process serves an entry: its `supported_environments` contain the value of the variable
 * `LITELLM_ENVIRONMENT`, or are absent. Adds a fault, and returns true, if the list or the variable has a value that is
 * not in `names`, or if the variable is missing.
 */
export function isForThisEnvironment(
  { supported_environments: supported }: Readonly<Record<string, unknown>>,
  { node, path }: { readonly node: YamlNode; readonly path: KeyPath },
  { environment, findings }: TargetOptions,
): boolean {
  if (supported === undefined || supported === null) return true;
  const current = environment['LITELLM_ENVIRONMENT']?.trim() ?? '';
  const fault = (text: string) => findings.fault(node, [...path, 'model_info', 'supported_environments'], text);
  if (!Array.isArray(supported) || !supported.every((name) => names.includes(name)))
    fault(`must be a list of ${listed}`);
  else if (!names.includes(current)) fault(`needs the environment variable LITELLM_ENVIRONMENT: one of ${listed}`);
  else return supported.includes(current);
  return true;
}
