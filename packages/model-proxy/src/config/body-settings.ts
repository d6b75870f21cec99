/** Resolves the settings about the bodies of requests and answers. */
import type { ProxySettings } from '../settings.js';
import { defaults } from './defaults.js';
import type { Block } from './faults.js';
import type { generalTable, settingsTable } from './settings.js';

/** The settings about bodies. */
type BodySettings = Pick<
  ProxySettings,
  | 'modelNameInResponse'
  | 'fillNullFields'
  | 'alwaysIncludeStreamUsage'
  | 'hidesBodies'
  | 'maxRequestBytes'
  | 'maxResponseBytes'
>;

/** Resolves the settings about bodies. A setting that is not set has its default. */
export function readBodySettings(
  { values: settings }: Block<typeof settingsTable>,
  { values: general }: Block<typeof generalTable>,
): BodySettings {
  return {
    modelNameInResponse: settings.modelNameInResponse ?? defaults.modelNameInResponse,
    fillNullFields: settings.fillNullFields ?? false,
    alwaysIncludeStreamUsage: general.alwaysIncludeStreamUsage ?? false,
    hidesBodies: settings.turnOffMessageLogging ?? false,
    maxRequestBytes: bytesOf(general.maxRequestSizeMb ?? defaults.maxRequestSizeMb),
    maxResponseBytes: bytesOf(general.maxResponseSizeMb ?? defaults.maxResponseSizeMb),
  };
}

const bytesOf = (megabytes: number) => Math.floor(megabytes * 2 ** 20);
