/** The effective settings of the service, as the resources receive them. */

/** Value of a setting in Redfish. Lists and mappings are Python literals, as in the configuration file. */
export type SettingValue = string | number | boolean | null;

/** A setting of the configuration file as clients see it. It contains no secrets. */
export interface EffectiveSetting {
  /** Name in the file and in the environment, such as `EMULATOR_LISTEN_PORT`. */
  readonly name: string;
  readonly value: SettingValue;
  readonly default: SettingValue;
  /** `/etc/bmc.conf:3`, `--port` or `environment EMULATOR_LISTEN_PORT`; null: the default applies. */
  readonly origin: string | null;
  /** One or two sentences. */
  readonly help: string;
  /** Whether a change of the setting needs a restart of the daemon. If not, a reload is enough. */
  readonly needsRestart: boolean;
  /** Title of the group in the documentation. */
  readonly group: string;
}
