/** The findings of `bmc-daemon check`, as findings of the doctor. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { inspectSettings, startOfMessage } from '../config/inspect.js';
import type { SettingKey } from '../config/settings.js';
import { asRoot, commandLine, editCommand } from '../findings/commands.js';
import { problem, warning, type Finding } from '../findings/finding.js';
import { hasOnlyCertificates, renewalCommand } from './certificates.js';
import { changeSetting, type Examined } from './probe.js';

const SUBJECT = 'settings';

/**
 * Fixes for settings that name a file: the file must change, not the line of the configuration. A fix is null if the
 * line must change.
 */
type FileFix = (examined: Examined, line: string) => string | null;
const fileFixes: Partial<Record<SettingKey, FileFix>> = {
  sslCert: renewalCommand,
  // If the setting names a file with certificates, the command would overwrite it with a key: the line must change.
  sslKey: (examined) => (hasOnlyCertificates(examined.loaded.settings.sslKey ?? '') ? null : renewalCommand(examined)),
  authFile: passwordFileFix,
};

/** Returns each fault and warning of the settings. A fault prevents the start of the daemon. */
export function examineConfiguration(examined: Examined): readonly Finding[] {
  const { loaded, environment } = examined;
  const inspection = inspectSettings(loaded, environment);
  const sentence = (line: string): string => `${line.replace(/^no /, 'No ')}.`;
  return [
    ...[...loaded.faults, ...inspection.faults].map((line) =>
      problem(SUBJECT, `The daemon does not start: ${sentence(line)}`, fixOf(line, examined)),
    ),
    ...[...loaded.warnings, ...inspection.warnings].map((line) =>
      line.startsWith('no EMULATOR_AUTH_FILE')
        ? withoutPasswordFile(sentence(line), examined)
        : warning(SUBJECT, sentence(line), fixOf(line, examined)),
    ),
  ];
}

function withoutPasswordFile(message: string, examined: Examined): Finding {
  // A relative path starts at the folder of the configuration file.
  const file = path.join(path.dirname(examined.file ?? ''), 'htpasswd');
  const create = commandLine('bmc-daemon', 'htpasswd', file, 'admin');
  const { command, advice } = changeSetting(examined, 'authFile', 'htpasswd');
  return warning(SUBJECT, message + advice, `${create} && ${command}`);
}

function fixOf(line: string, examined: Examined): string {
  // Object.entries returns the keys of `fileFixes` as strings.
  for (const [key, fix] of Object.entries(fileFixes) as [SettingKey, FileFix][]) {
    if (!line.startsWith(startOfMessage(examined.loaded, key)) || !line.includes('cannot be used')) continue;
    const command = fix(examined, line);
    if (command !== null) return command;
  }
  const variable = /^environment(?: |: )(\w+)/.exec(line)?.[1];
  const edit = editCommand(line);
  if (edit !== null) return edit;
  if (variable !== undefined) return `unset ${variable}`;
  return commandLine(
    'bmc-daemon',
    'check',
    '--strict',
    ...(examined.file === undefined ? [] : ['--config', examined.file]),
  );
}

/** Returns the command for a password file that the daemon cannot use. @param line the fault. */
function passwordFileFix({ loaded: { settings }, account }: Examined, line: string): string {
  const { authFile } = settings;
  if (authFile === null) return commandLine('bmc-daemon', 'htpasswd', 'htpasswd', 'admin');
  if (!existsSync(authFile)) return commandLine('bmc-daemon', 'htpasswd', authFile, 'admin');
  const edit = statSync(authFile).isFile() ? null : editCommand(line);
  return edit ?? asRoot(commandLine('chown', account.name, authFile), account.uid);
}
