/** Finds the settings in the environment. */
import type { Findings } from './findings.js';
import {
  ALIAS_PREFIX,
  BARE_CONFIG_NAME,
  keyByBareName,
  PREFIX,
  recognizedNames,
  withoutPrefix,
  suggestion,
} from './setting-names.js';
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
  // A setting can have several names. The first one in this order applies: names with our prefix
  // come before those of sushy-tools, and LIBVIRT_URI comes before its old name LIBVIRT_URL.
  const names = Object.keys(environment).sort(
    (a, b) => Number(a.startsWith('SUSHY')) - Number(b.startsWith('SUSHY')) || (a < b ? -1 : 1),
  );
  for (const name of names) {
    const bareName = withoutPrefix(name)?.bareName;
    // In Compose files and systemd units, an empty variable means an absent one.
    const text = environment[name];
    if (bareName === undefined || text === undefined || text === '') continue;
    const key = keyByBareName.get(bareName);
    if (key !== undefined) {
      if (!variables.has(key)) variables.set(key, { name, text });
    } else if (bareName !== BARE_CONFIG_NAME && !Object.hasOwn(recognizedNames, bareName)) {
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
  const files = [environment[PREFIX + BARE_CONFIG_NAME], environment[ALIAS_PREFIX + BARE_CONFIG_NAME]];
  return files.find((file) => file !== undefined && file !== '');
}
