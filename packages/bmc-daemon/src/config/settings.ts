/**
 * The table of settings. The file, the environment, flags, `bmc-daemon check` and
 * docs/reference/bmc-daemon-configuration.md are all derived from its rows.
 */
import type { z } from 'zod';
import { contractSettings } from './rows/contract.js';
import { inventorySettings } from './rows/inventory.js';
import { logSettings } from './rows/log.js';
import { machineSettings } from './rows/machines.js';
import { openstackSettings } from './rows/openstack.js';
import { serviceSettings } from './rows/service.js';
import { virtualMediaSettings } from './rows/virtual-media.js';

/** The rows by key, in the order of the documentation. */
export const settingsTable = {
  ...contractSettings,
  ...serviceSettings,
  ...machineSettings,
  ...openstackSettings,
  ...inventorySettings,
  ...virtualMediaSettings,
  ...logSettings,
};

/** A key of the table, for example `listenPort`. */
export type SettingKey = keyof typeof settingsTable;

/** The effective settings: plain, typed, with absolute paths. */
export type Settings = {
  readonly [Key in SettingKey]: (typeof settingsTable)[Key] extends { readonly type: z.ZodType<infer T> } ? T : never;
};

/** Every key of the table, in its order. Object.keys returns string[]; the table has exactly the keys of SettingKey. */
export const settingKeys = Object.keys(settingsTable) as SettingKey[];
