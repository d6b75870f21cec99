/** The groups of settings, in the order of the documentation. */
import { contractSettings } from './rows/contract.js';
import { inventorySettings } from './rows/inventory.js';
import { logSettings } from './rows/log.js';
import { machineSettings } from './rows/machines.js';
import { openstackSettings } from './rows/openstack.js';
import { serviceSettings } from './rows/service.js';
import { virtualMediaSettings } from './rows/virtual-media.js';
import { settingKeys, type SettingKey } from './settings.js';

const rowsByTitle = {
  'Contract settings': contractSettings,
  'The service': serviceSettings,
  'The machines': machineSettings,
  OpenStack: openstackSettings,
  'Chassis and storage': inventorySettings,
  'Virtual media': virtualMediaSettings,
  'The log': logSettings,
};

/** The title of a group. */
export type SettingGroup = keyof typeof rowsByTitle;

/** A group with its settings, in the order of the documentation. */
interface GroupedSettings {
  readonly title: SettingGroup;
  readonly keys: readonly SettingKey[];
}

/** All groups. Each setting is in one of them. */
export const settingGroups: readonly GroupedSettings[] = Object.entries(rowsByTitle).map(([title, rows]) => ({
  // Object.entries returns string keys; `rowsByTitle` has exactly the keys of SettingGroup.
  title: title as SettingGroup,
  keys: settingKeys.filter((key) => key in rows),
}));
