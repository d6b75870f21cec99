/**
 * Renders docs/reference/bmc-daemon-configuration.md from the table of settings.
 * `npm run generate` writes the page, and a test compares it.
 */
import { formatLiteral } from './python/format.js';
import { reloadableKeys } from './reloadable.js';
import type { SettingDefinition } from './rows/row.js';
import { settingDetails } from './setting-details.js';
import { settingGroups, type SettingGroup } from './setting-groups.js';
import { recognizedNames } from './setting-names.js';
import { settingsTable, type SettingKey } from './settings.js';

/** Paragraphs above the table of a group. */
const groupTexts: Readonly<Partial<Record<SettingGroup, string>>> = {
  'Contract settings': `The rows RF-1 to RF-9 of the [contract](contract.md#configuration) describe the effect of these settings
for clients.`,
  OpenStack:
    'These settings have an effect only if `EMULATOR_OS_CLOUD` is set. See [OpenStack](../guides/openstack.md).',
  'Chassis and storage': `Without these settings, each machine has its own chassis, and its storage follows from its disks.

A \`POST\` to Volumes creates a volume in the pool **and a disk of the machine**; sushy-emulator creates
only the volume. [Libvirt hosts](../guides/libvirt-hosts.md) describes this, and what \`DELETE\` removes.
In the values of these settings, the daemon ignores keys that sushy-tools does not document.`,
};

/**
 * Maximum length, in characters, of a value or default in the table. Longer ones are in a section
 * below it.
 */
const MAX_CELL_LENGTH = 44;

/** Maximum length of a line of prose, in characters. */
const MAX_LINE_LENGTH = 100;

/** Renders an item of a list, wrapped. */
function item(text: string): string {
  const lines = ['-'];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line.length + word.length < MAX_LINE_LENGTH) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}

/** Escapes a cell of a Markdown table. */
const cell = (text: string) => text.replaceAll('|', '\\|');

const describe = (key: SettingKey): { readonly row: string; readonly section: readonly string[] } => {
  const { name, expected, default: defaultValue, flag, doc }: SettingDefinition<unknown> = settingsTable[key];
  const value = `\`${formatLiteral(defaultValue)}\``;
  const isShort = (text: string) => text.length <= MAX_CELL_LENGTH;
  const section = [
    ...(isShort(expected) ? [] : [`Value: ${expected}.`]),
    ...(isShort(value) ? [] : [`Default: ${value}.`]),
    ...(settingDetails[key] ?? []),
  ];
  const cells = [`\`${name}\``, isShort(expected) ? expected : 'see below', isShort(value) ? value : 'see below'];
  return {
    row: `| ${[...cells, flag === undefined ? '' : `\`${flag}\``, doc].map(cell).join(' | ')} |`,
    section: section.length === 0 ? [] : [`### \`${name}\``, doc, section.map(item).join('\n')],
  };
};

function settingsOf(keys: readonly SettingKey[]): readonly string[] {
  const settings = keys.map(describe);
  return [
    [
      '| Name | Value | Default | Flag | Meaning |',
      '| --- | --- | --- | --- | --- |',
      ...settings.map(({ row }) => row),
    ].join('\n'),
    ...settings.flatMap(({ section }) => section),
  ];
}

/** Renders the whole page, with a newline at the end. */
export function renderConfigurationPage(): string {
  return `${[
    introduction,
    fileSection,
    sushyEmulatorSection,
    ...settingGroups.map(({ title, keys }) => {
      const text = groupTexts[title];
      return [`## ${title}`, ...(text === undefined ? [] : [text]), ...settingsOf(keys)].join('\n\n');
    }),
    unusedNamesSection(),
    passwordFileSection,
    signalsSection,
  ].join('\n\n')}\n`;
}

const introduction = `<!-- Made by \`npm run generate\` from packages/bmc-daemon/src/config. Change the source, not this page. -->

# Configuration of bmc-daemon

This page lists all settings of the configuration file. Check a file before you use it:

<!-- commands: installed bmc-conf -->

\`\`\`sh
bmc-daemon check --strict --config /etc/bmc-daemon/bmc-daemon.conf # prints errors and all settings
\`\`\`

\`\`\`sh service
bmc-daemon --config /etc/bmc-daemon/bmc-daemon.conf
\`\`\``;

const fileSection = `## The file

Each setting is an assignment, as in Python: \`EMULATOR_LISTEN_PORT = 8000\`.

- A value is a string (\`'a'\`, \`"a"\`, \`r'a'\`, \`u'a'\`, \`'''a'''\`), a number, \`None\`, \`True\`, \`False\`, a list, a
  tuple or a mapping. Adjacent strings are one string. Comments begin with \`#\`.
- The daemon parses the file and never executes it.
- A relative path in the file starts at the folder of the file. In a flag or an environment variable, it starts at
  the working directory.
- With a wrong value, the daemon does not start. The message names file and line.
- An unknown name causes a warning with the nearest known name. \`check --strict\` fails for it.

The daemon looks for a setting in this order, and uses the first value that it finds:

1. the flag of the command line
2. the file (\`--config\`; without the flag, the file that \`EMULATOR_CONFIG\` in the environment names)
3. the environment variable with the name of the setting; strings need no quotes there
4. the default`;

const sushyEmulatorSection = `## A configuration of sushy-emulator

The package also installs the command \`sushy-emulator\` with the same flags. A configuration file of
sushy-emulator works without changes if its settings use only the code that this list names:

- A name may begin with \`SUSHY_EMULATOR_\` instead of \`EMULATOR_\`. If both are set, \`EMULATOR_\` has precedence.
- The file may contain imports, names that earlier lines set, and \`__file__\`.
- The daemon evaluates these functions:
  - \`os.path.join\`, \`dirname\`, \`basename\`, \`abspath\`, \`realpath\`, \`normpath\` and \`expanduser\`
  - \`os.getcwd\`, \`os.getenv\`, \`os.environ\`
  - \`pathlib.Path\` with \`/\`, \`parent\`, \`name\`, \`resolve\`, \`absolute\`, \`expanduser\` and \`joinpath\`
  - \`str\`, and \`+\` between strings or lists
- With any other code in a setting, the daemon does not start. The message shows the line to write instead.
  The daemon ignores calls and calculations in assignments to other names.
- A port may be in quotes. \`'Uefi'\` in \`EMULATOR_BOOT_LOADER_MAP\` means \`'UEFI'\`, and causes a warning.
- \`SUSHY_EMULATOR_FAKE_SYSTEMS\` creates machines in memory, if \`SUSHY_EMULATOR_FAKE_DRIVER\` is True.
- \`FAKE_IPA_*\` and \`SUSHY_FAKE_IPA_*\` are settings of a fake deploy agent that reads the same file. The
  daemon ignores them.

If a fake system has \`external_notifier\`, the daemon sends each change of it to
\`EXTERNAL_NOTIFICATION_URL\`, as sushy-tools does: a PUT with the system as JSON. For a power action, it
sends two PUTs: the first with \`pending_power\`, the second with the new \`power_state\`. Without
[delays](fake-machines.md#delays), the daemon's fake machines change at once; those of sushy-tools take up to
11 seconds.`;

function unusedNamesSection(): string {
  const unused = new Map<string, string[]>();
  for (const [bareName, purpose] of Object.entries(recognizedNames))
    unused.set(purpose, [...(unused.get(purpose) ?? []), `\`SUSHY_EMULATOR_${bareName}\``]);
  return `## Unused names of sushy-tools

In the file, the daemon accepts these names with a warning. In the environment, it ignores them.

${[...unused].map(([purpose, names]) => [`- ${purpose}:`, ...names.map((name) => `  - ${name}`)].join('\n')).join('\n')}`;
}

const passwordFileSection = `## The password file

Each line is \`user:hash\`. The hash is a bcrypt hash (\`$2a$\`, \`$2b$\`, \`$2y$\`) with a cost from 4 to 17.
\`bmc-daemon htpasswd FILE USER\` writes such a line. The daemon ignores blank lines and lines that begin
with \`#\`. If any other line is invalid, or the file is missing, the daemon does not start.

**Changes.** While requests arrive, the daemon checks the file once a second:

- A user whose line was removed has no access anymore.
- A line that became invalid gives no access. The log names the line.
- While the file is missing, no user has access.
- If a user has two lines, the first line counts.

**Passwords.** bcrypt uses only the first 72 bytes of a password, so \`bmc-daemon htpasswd\` rejects longer
passwords. Names and passwords are UTF-8. If the bytes are not UTF-8, the daemon reads them as Latin-1,
because python-requests sends Latin-1.

**Cache.** After the first login of a user, the daemon stores a keyed digest of the password in memory.
bcrypt therefore runs once for each user, not for each request. A change of the user's line makes the
digest invalid. The daemon delays the answers to wrong passwords. Correct passwords also work during an attack: see
[accounts](../guides/accounts.md#logins-during-password-guessing).`;

const signalsSection = `## Signals

| Signal | Effect |
| --- | --- |
| SIGTERM, SIGINT | The daemon shuts down with exit code 0. |
| A second SIGTERM or SIGINT | The daemon exits at once. |
| SIGHUP | The daemon reloads the configuration. |

**Shutdown.** The daemon accepts no new connections. Running requests may continue for the time in
\`${settingsTable.shutdownWaitSeconds.name}\`.

**Reload.** Sessions, tasks and subscriptions continue. A reload applies these settings:

${reloadableKeys.map((key) => `- \`${settingsTable[key].name}\``).join('\n')}

Other changed settings need a restart; the log names them. If the new configuration has an error, the
daemon logs the error and continues with the old configuration. If the daemon cannot use the certificate or the
key, it logs the reason and continues with the old pair. A client can also request a reload,
with the action \`Manager.Reset\` of any manager.`;
