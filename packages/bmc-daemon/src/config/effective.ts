/** Renders the effective settings for clients, and as a configuration file with the origin of each line. */
import { maskPassword, maskUrl } from '@rackless/daemon/text/mask-url.js';
import type { EffectiveSetting } from '../resources/service/effective-setting.js';
import type { LoadedSettings } from './load.js';
import { formatLiteral } from './python/format.js';
import { reloadableKeys } from './reloadable.js';
import type { SettingDefinition } from './rows/row.js';
import { settingGroups, type SettingGroup } from './setting-groups.js';
import { settingKeys, settingsTable, type SettingKey } from './settings.js';

type Loaded = Pick<LoadedSettings, 'settings' | 'origins'>;

/**
 * Hides secrets in addresses: `qemu+tcp://user:******@host/system`. Also hides the query of a web address,
 * because it can contain a token. The query of other addresses names files, so it stays.
 */
function maskedText(text: string): string {
  return /^\s*https?:/i.test(text) ? maskUrl(text) : maskPassword(text);
}

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [maskedText(key), masked(member)]));
  }
  return typeof value === 'string' ? maskedText(value) : value;
}

/**
 * Returns a line `NAME = value  # origin` for each setting, in the order of the documentation. As a
 * file, the text gives the same settings, except masked secrets.
 */
export function renderEffectiveSettings({ settings, origins }: Loaded): string {
  const lines = settingKeys.map((key): [string, string] => [
    `${settingsTable[key].name} = ${formatLiteral(masked(settings[key]))}`,
    origins[key],
  ]);
  // The column in which the origins begin. A longer assignment only moves its own origin.
  const column = Math.max(...lines.map(([assignment]) => assignment.length).filter((length) => length <= 72));
  return lines.map(([assignment, origin]) => `${assignment.padEnd(column)}  # ${origin}\n`).join('');
}

/** Returns all settings as Redfish shows them, in the order of the documentation. */
export function listEffectiveSettings(loaded: Loaded): readonly EffectiveSetting[] {
  return settingGroups.flatMap(({ title, keys }) => keys.map((key) => effectiveSetting(key, title, loaded)));
}

function effectiveSetting(key: SettingKey, group: SettingGroup, { settings, origins }: Loaded): EffectiveSetting {
  const { name, default: defaultValue, doc, expected }: SettingDefinition<unknown> = settingsTable[key];
  const origin = origins[key];
  return {
    name,
    value: jsonValue(settings[key]),
    default: jsonValue(defaultValue),
    origin: origin === 'default' ? null : origin,
    help: `${doc} Value: ${expected}.`.replaceAll('`', ''),
    needsRestart: !reloadableKeys.some((known) => known === key),
    group,
  };
}

/**
 * Returns a value for JSON, without secrets: a Python literal for a list or a mapping, and null for
 * an empty text, which DMTF forbids.
 */
function jsonValue(value: unknown): EffectiveSetting['value'] {
  const shown = masked(value);
  if (shown === '') return null;
  if (shown === null || typeof shown === 'boolean' || typeof shown === 'string') return shown;
  return typeof shown === 'number' && Number.isFinite(shown) ? shown : formatLiteral(shown);
}
