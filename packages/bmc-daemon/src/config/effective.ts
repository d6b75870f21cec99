/** Renders the effective settings as a configuration file, with the origin of each line. */
import type { LoadedSettings } from './load.js';
import { formatLiteral } from './python/format.js';
import { settingKeys, settingsTable } from './settings.js';

/** Hides a password in a connection address: `qemu+tcp://user:******@host/system`. */
function masked(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/(:\/\/[^/@:]*?(?::|%3a))[^/@]*@/i, '$1******@') : value;
}

/**
 * Returns a line `NAME = value  # origin` for each setting, in the order of the documentation. As a
 * file, the text gives the same settings, except masked passwords.
 */
export function renderEffectiveSettings({ settings, origins }: Pick<LoadedSettings, 'settings' | 'origins'>): string {
  const lines = settingKeys.map((key): [string, string] => [
    `${settingsTable[key].name} = ${formatLiteral(masked(settings[key]))}`,
    origins[key],
  ]);
  // The column of the origins. Longer assignments do not move it.
  const column = Math.max(...lines.map(([assignment]) => assignment.length).filter((length) => length <= 72));
  return lines.map(([assignment, origin]) => `${assignment.padEnd(column)}  # ${origin}\n`).join('');
}
