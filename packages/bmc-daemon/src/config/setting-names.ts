/**
 * Maps names to settings: `EMULATOR_*`, sushy-tools' `SUSHY_EMULATOR_*`, and a few names without a
 * prefix.
 */
import { nearestName } from '@rackless/daemon/text/nearest-name.js';
import { settingKeys, settingsTable, type SettingKey } from './settings.js';

/** Prefix of a setting in the file and in the environment. */
export const PREFIX = 'EMULATOR_';
/** The prefix of sushy-tools, which is also accepted. */
export const ALIAS_PREFIX = 'SUSHY_EMULATOR_';

/** Maps each name without its prefix to the setting. LIBVIRT_URL is an old name that sushy-tools still reads. */
export const keyByBareName = new Map<string, SettingKey>([
  ...settingKeys.map((key): [string, SettingKey] => [settingsTable[key].name.slice(PREFIX.length), key]),
  ['LIBVIRT_URL', 'libvirtUri'],
]);

/** Names that sushy-tools reads without a prefix. */
const unprefixedNames: ReadonlySet<string> = new Set(
  ['URL', 'CAFILE', 'CERTFILE', 'KEYFILE'].map((part) => `EXTERNAL_NOTIFICATION_${part}`),
);

/** Name, without prefix, of the variable with the path of the configuration file. */
export const BARE_CONFIG_NAME = 'CONFIG';

/** Returns `EMULATOR_X` or `SUSHY_EMULATOR_X` without its prefix; undefined for other names. */
export function withoutPrefix(name: string): { bareName: string; isAlias: boolean } | undefined {
  if (name.startsWith(PREFIX)) return { bareName: name.slice(PREFIX.length), isAlias: false };
  if (name.startsWith(ALIAS_PREFIX)) return { bareName: name.slice(ALIAS_PREFIX.length), isAlias: true };
  return undefined;
}

/** Returns the setting of a name from the file; undefined if there is none. */
export function keyOf(name: string): { key: SettingKey; isAlias: boolean } | undefined {
  const split = withoutPrefix(name);
  const key =
    split === undefined
      ? unprefixedNames.has(name)
        ? keyByBareName.get(name)
        : undefined
      : keyByBareName.get(split.bareName);
  return key === undefined ? undefined : { key, isAlias: split?.isAlias ?? true };
}

/**
 * Returns whether a name is a setting of the fake deploy agent (metal3's fake-ipa), which can use the same
 * configuration file.
 */
export function isOfFakeAgent(name: string): boolean {
  return /^(SUSHY_)?FAKE_IPA_/.test(name);
}

/**
 * Names of sushy-tools' configuration, without the prefix, that are accepted without an effect, each with the
 * feature to which it belongs.
 * @see https://docs.openstack.org/sushy-tools/latest/admin/index.html
 */
export const recognizedNames: Readonly<Record<string, string>> = {
  FAKE_IPA: 'a name that sushy-tools does not read either (use `external_notifier` of a fake system)',
  NO_MEMOIZE: "a switch for sushy-tools' caches",
  OS_RESCUE_PXE_BOOT: "settings of sushy-tools' OpenStack backend",
  OS_RESCUE_PXE_IMAGE_BIOS: "settings of sushy-tools' OpenStack backend",
  OS_RESCUE_PXE_IMAGE_UEFI: "settings of sushy-tools' OpenStack backend",
  OS_VMEDIA_BLANK_IMAGE: "settings of sushy-tools' OpenStack backend",
  OS_VMEDIA_DELAY_EJECT: "settings of sushy-tools' OpenStack backend",
  OS_VMEDIA_DISK_FORMAT_OVERRIDE: "settings of sushy-tools' OpenStack backend",
  OS_VMEDIA_RESCUE_DEVICE: "settings of sushy-tools' OpenStack backend",
  OS_VMEDIA_USE_RESCUE: "settings of sushy-tools' OpenStack backend",
};

const knownBareNames = [...keyByBareName.keys(), ...Object.keys(recognizedNames)];

/** Returns `; the nearest known name is EMULATOR_X`, or an empty text. */
export function suggestion(name: string): string {
  const upper = name.toUpperCase();
  const split = withoutPrefix(upper);
  // Compares the whole name if it has no prefix.
  const near = nearestName(split?.bareName ?? upper, knownBareNames);
  return near === undefined
    ? ''
    : `; the nearest known name is ${split?.isAlias === true ? ALIAS_PREFIX : PREFIX}${near}`;
}
