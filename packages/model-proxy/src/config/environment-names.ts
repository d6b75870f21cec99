/** Variables of LiteLLM's that this proxy does not implement, and `general_settings.start_without`. */
import type { Environment } from '../settings.js';
import { ENVIRONMENT, type Block } from './faults.js';
import type { generalTable } from './settings.js';
import { scalar } from './single-model.js';
import { unimplemented } from './unimplemented.js';
import { canBeRefused, refuseSetting, type Notes } from './unknown-keys.js';

/** Refuses and ignores variables as settings of a file are. */
export function noteEnvironment(environment: Environment, notes: Notes): void {
  for (const { treatment, what, names } of unimplemented.environment)
    for (const name of names) {
      const text = environment[name] ?? '';
      if (text === '' || /^(false|0|no|off)$/i.test(text)) continue;
      const node = { ...scalar(text), file: ENVIRONMENT.file };
      if (treatment === 'refused') refuseSetting(name, node, [name], what, notes);
      else notes.notBuilt.add(node, [name]);
    }
}

/** Reads the settings that may be missing. A name that is never refused is a fault: it would seem to have an effect. */
export function readStartWithout({ values, places }: Block<typeof generalTable>, { findings, notBuilt }: Notes): void {
  const { startWithout = [] } = values;
  const place = places.get('startWithout');
  notBuilt.dispenseWith(startWithout);
  if (place?.node.kind !== 'sequence') return;
  const { path } = place;
  place.node.items.forEach((item, index) => {
    const name = startWithout[index];
    if (name !== undefined && !canBeRefused(name))
      findings.fault(item, [...path, index], `${JSON.stringify(name)} is no setting that stops the start`);
  });
}
