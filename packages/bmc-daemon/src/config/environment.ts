/** Finds the settings in the environment. */
import type { Findings } from './findings.js';
import { ALIAS_PREFIX, CONFIG_STEM, keyByStem, PREFIX, recognizedNames, stemOf, suggestion } from './setting-names.js';
import type { SettingKey } from './settings.js';

/** Variables of the environment; undefined: not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable with the text of a setting. The text is not empty. */
export interface Variable {
  readonly name: string;
  readonly text: string;
}

/** Returns the variables that set a setting, and warns about misspelled ones. */
export function environmentVariables(environment: Environment, findings: Findings): ReadonlyMap<SettingKey, Variable> {
  const variables = new Map<SettingKey, Variable>();
  // EMULATOR_* sorts before SUSHY_EMULATOR_*, and LIBVIRT_URI before LIBVIRT_URL: the first one
  // applies.
  const names = Object.keys(environment).sort(
    (a, b) => Number(a.startsWith('SUSHY')) - Number(b.startsWith('SUSHY')) || (a < b ? -1 : 1),
  );
  for (const name of names) {
    const stem = stemOf(name)?.stem;
    // In Compose files and systemd units, an empty variable means an absent one.
    const text = environment[name];
    if (stem === undefined || text === undefined || text === '') continue;
    const key = keyByStem.get(stem);
    if (key !== undefined) {
      if (!variables.has(key)) variables.set(key, { name, text });
    } else if (stem !== CONFIG_STEM && !Object.hasOwn(recognizedNames, stem)) {
      const near = suggestion(name);
      // A variable without a similar known name belongs to another program, and causes no warning.
      if (near !== '') findings.addUnknownName(`environment: ${name} is not a setting${near}`);
    }
  }
  return variables;
}

/**
 * Returns the path of the configuration file from EMULATOR_CONFIG, else from SUSHY_EMULATOR_CONFIG;
 * undefined if both are unset or empty.
 */
export function configFileOf(environment: Environment): string | undefined {
  const files = [environment[PREFIX + CONFIG_STEM], environment[ALIAS_PREFIX + CONFIG_STEM]];
  return files.find((file) => file !== undefined && file !== '');
}
