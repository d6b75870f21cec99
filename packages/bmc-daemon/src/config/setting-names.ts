/** Which setting a name means: `EMULATOR_*`, sushy-tools' `SUSHY_EMULATOR_*`, and a few names without a prefix. */
import { nearestName } from '@rackless/daemon/nearest-name.js';
import { recognisedNames, settingKeys, settingsTable, type SettingKey } from './settings.js';

export const PREFIX = 'EMULATOR_';
export const ALIAS_PREFIX = 'SUSHY_EMULATOR_';

/** Names without a prefix that say which setting they are; LIBVIRT_URL is an old name that sushy-tools still reads. */
export const keyByStem = new Map<string, SettingKey>([
  ...settingKeys.map((key): [string, SettingKey] => [settingsTable[key].name.slice(PREFIX.length), key]),
  ['LIBVIRT_URL', 'libvirtUri'],
]);

/** Names that sushy-tools reads without a prefix. */
const bareNames: ReadonlySet<string> = new Set(
  ['URL', 'CAFILE', 'CERTFILE', 'KEYFILE'].map((part) => `EXTERNAL_NOTIFICATION_${part}`),
);

/** Names that carry the path of the file itself. */
export const CONFIG_STEM = 'CONFIG';

/** `EMULATOR_X` and `SUSHY_EMULATOR_X` without their prefix; undefined for other names. */
export function stemOf(name: string): { stem: string; alias: boolean } | undefined {
  if (name.startsWith(PREFIX)) return { stem: name.slice(PREFIX.length), alias: false };
  if (name.startsWith(ALIAS_PREFIX)) return { stem: name.slice(ALIAS_PREFIX.length), alias: true };
  return undefined;
}

/** Which setting a name of the file or of the environment means. */
export function keyOf(name: string): { key: SettingKey; alias: boolean } | undefined {
  const stem = stemOf(name);
  const key = stem === undefined ? (bareNames.has(name) ? keyByStem.get(name) : undefined) : keyByStem.get(stem.stem);
  return key === undefined ? undefined : { key, alias: stem?.alias ?? true };
}

/** Names of a fake deploy agent (metal3's fake-ipa), which reads the same file as sushy-emulator. */
export function isOfFakeAgent(name: string): boolean {
  return /^(SUSHY_)?FAKE_IPA_/.test(name);
}

const knownStems = [...keyByStem.keys(), ...Object.keys(recognisedNames)];

/** `; the nearest known name is EMULATOR_X`, or nothing. */
export function suggestion(name: string): string {
  const upper = name.toUpperCase();
  const stem = stemOf(upper);
  // A name without its prefix is near to the full name too.
  const near = nearestName(stem?.stem ?? upper, knownStems);
  return near === undefined ? '' : `; the nearest known name is ${stem?.alias === true ? ALIAS_PREFIX : PREFIX}${near}`;
}
