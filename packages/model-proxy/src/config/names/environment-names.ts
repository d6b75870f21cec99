/**
 * Reports LiteLLM's environment variables that the proxy does not implement, and reads
 * `general_settings.start_without`.
 */
import type { Environment } from '../../settings.js';
import { ENVIRONMENT, type Block } from '../faults.js';
import type { generalTable } from '../settings.js';
import { scalar } from '../deployments/single-model.js';
import { unimplemented } from './unimplemented.js';
import { canBeRefused, refuseSetting, type Notes } from './unknown-keys.js';

/**
 * Adds the faults of unimplemented variables that restrict access, unless `start_without` names them. Collects the
 * other unimplemented variables for a warning. Skips variables that are empty or have a value such as `false` or `0`.
 */
export function noteEnvironment(environment: Environment, notes: Notes): void {
  for (const { treatment, what, names } of unimplemented.environment)
    for (const name of names) {
      const text = environment[name] ?? '';
      if (text === '' || /^(false|0|no|off)$/i.test(text)) continue;
      const node = { ...scalar(text), file: ENVIRONMENT.file };
      if (treatment === 'refused') refuseSetting(name, node, [name], what, notes);
      else notes.ignoredSettings.add(node, [name]);
    }
}

/**
 * Reads `start_without`. The caller reports unimplemented settings only after this call. If the list contains a name
 * that never prevents the start, this is a fault: the operator would rely on a name that has no effect.
 */
export function readStartWithout(
  { values, places }: Block<typeof generalTable>,
  { findings, ignoredSettings }: Notes,
): void {
  const { startWithout = [] } = values;
  const place = places.get('startWithout');
  ignoredSettings.allowIgnoring(startWithout);
  if (place?.node.kind !== 'sequence') return;
  const { path } = place;
  place.node.items.forEach((item, index) => {
    const name = startWithout[index];
    if (name !== undefined && !canBeRefused(name))
      findings.fault(item, [...path, index], `${JSON.stringify(name)} is not a setting that prevents the start`);
  });
}
