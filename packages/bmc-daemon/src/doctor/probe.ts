/** Probes of the doctor: their type and inputs, and the change of a setting that a finding recommends. */
import type { LoadedSettings } from '../config/load.js';
import { settingsTable, type SettingKey } from '../config/settings.js';
import type { Environment } from '../config/environment.js';
import { commandLine, editCommand, type ConfigurationChange } from '../findings/commands.js';
import type { Finding } from '../findings/finding.js';
import type { HostAccount } from '../host/account.js';

/** Inputs of all probes. */
export interface Examined {
  readonly loaded: LoadedSettings;
  /** Path of the configuration file as given; undefined: no file. */
  readonly file: string | undefined;
  readonly environment: Environment;
  readonly account: HostAccount;
  /** Time limit of one probe in milliseconds. */
  readonly timeoutMs: number;
}

/** Examines one subject of this host. */
export interface Probe {
  /** One word: the subject of the finding that reports a probe that failed or took too long. */
  readonly subject: string;
  /** The probe does not run if the value of one of these settings is unknown. */
  readonly settings: readonly SettingKey[];
  /** Returns the findings about the subject. */
  examine(examined: Examined): readonly Finding[] | Promise<readonly Finding[]>;
}

/**
 * Returns how to change a setting in its source: the environment, the command line or the configuration file.
 * @param value the new value.
 */
export function changeSetting(
  { loaded: { origins }, file }: Examined,
  key: SettingKey,
  value: string | number,
): ConfigurationChange {
  // Every row has a name, and some rows have a flag.
  const { name, flag } = settingsTable[key] as { readonly name: string; readonly flag?: string };
  const origin = origins[key];
  const option = flag?.split(', ').at(-1);
  // A JSON string is a Python literal too, with quotation marks that a shell need not escape.
  const assignment = `${name} = ${JSON.stringify(value)}`;
  const text = commandLine(String(value));
  const wholeCommand = (command: string): ConfigurationChange => ({ command, advice: '' });
  if (origin.startsWith('environment ')) return wholeCommand(`export ${origin.slice('environment '.length)}=${text}`);
  if (origin.startsWith('-') && option !== undefined) return wholeCommand(`bmc-daemon ${option} ${text}`);
  const edit = editCommand(origin);
  if (edit !== null) return { command: edit, advice: ` Set ${assignment}.` };
  return wholeCommand(`echo ${commandLine(assignment)} >> ${commandLine(file ?? 'bmc-daemon.conf')}`);
}
