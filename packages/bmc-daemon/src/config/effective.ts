/** Renders the effective settings as a configuration file, with the origin of each line. */
import { maskPassword } from '@rackless/daemon/text/mask-url.js';
import type { LoadedSettings } from './load.js';
import { formatLiteral } from './python/format.js';
import { settingKeys, settingsTable } from './settings.js';

/** Hides passwords in connection addresses: `qemu+tcp://user:******@host/system`. */
function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [maskPassword(key), masked(member)]));
  }
  return typeof value === 'string' ? maskPassword(value) : value;
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
  // The column in which the origins begin. A longer assignment only moves its own origin.
  const column = Math.max(...lines.map(([assignment]) => assignment.length).filter((length) => length <= 72));
  return lines.map(([assignment, origin]) => `${assignment.padEnd(column)}  # ${origin}\n`).join('');
}
