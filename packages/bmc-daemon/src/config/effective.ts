/** Renders the effective settings as a configuration file, with the origin of each line. */
import { maskPassword } from '@rackless/daemon/text/mask-url.js';
import type { LoadedSettings } from './load.js';
import { formatLiteral } from './python/format.js';
import { settingKeys, settingsTable } from './settings.js';

const masked = (value: unknown): unknown => (typeof value === 'string' ? maskPassword(value) : value);

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
