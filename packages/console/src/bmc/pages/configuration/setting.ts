/** A setting of the service, and the search in all of them. */

/** The value of a setting. */
export type SettingValue = string | number | boolean | null;

/** A setting of the service, such as `EMULATOR_LISTEN_PORT`. */
export interface Setting {
  readonly name: string;
  readonly value: SettingValue;
  readonly default: SettingValue;
  /** For example `/etc/bmc.conf:3`, `--port` or `environment EMULATOR_LISTEN_PORT`; null: the default applies. */
  readonly source: string | null;
  readonly help: string;
  readonly needsRestart: boolean;
}

/**
 * Returns the settings that contain all words of a text in their name, value, source or help; all settings for an empty
 * text. Upper and lower case are the same.
 */
export function searchSettings(settings: readonly Setting[], text: string): readonly Setting[] {
  const words = text.toLowerCase().split(/\s+/);
  return settings.filter(({ name, value, source, help }) => {
    const searched = `${name} ${String(value)} ${source ?? ''} ${help}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
}
