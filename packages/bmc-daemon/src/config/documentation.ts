/**
 * Renders docs/reference/bmc-daemon-configuration.md from the table of settings.
 * `npm run generate` writes the page, and a test compares it.
 */
import { formatLiteral } from './python/format.js';
import { reloadableKeys } from './reloadable.js';
import { contractSettings } from './rows/contract.js';
import { inventorySettings } from './rows/inventory.js';
import { logSettings } from './rows/log.js';
import { machineSettings } from './rows/machines.js';
import type { SettingDefinition } from './rows/row.js';
import { serviceSettings } from './rows/service.js';
import { virtualMediaSettings } from './rows/virtual-media.js';
import { settingDetails } from './setting-details.js';
import { recognizedNames } from './setting-names.js';
import { settingKeys, settingsTable, type SettingKey } from './settings.js';

/** A table of settings with its heading. */
interface Group {
  readonly title: string;
  /** Paragraphs above the table. */
  readonly text?: string;
  readonly rows: Readonly<Record<string, unknown>>;
}

const groups: readonly Group[] = [
  {
    title: 'Contract settings',
    text: 'These settings are rows of the [contract](contract.md#configuration).',
    rows: contractSettings,
  },
  { title: 'The service', rows: serviceSettings },
  { title: 'The machines', rows: machineSettings },
  {
    title: 'Chassis and storage',
    text: `Without these settings, each machine has a chassis of its own, and storage by the buses of its disks.

A \`POST\` on Volumes creates a volume in the pool **and a disk of the machine**, where sushy-emulator
creates the volume only. [Libvirt hosts](../guides/libvirt-hosts.md) describes this, and what \`DELETE\`
deletes. The daemon ignores members of the mappings that sushy-tools does not know.`,
    rows: inventorySettings,
  },
  { title: 'Virtual media', rows: virtualMediaSettings },
  { title: 'The log', rows: logSettings },
];

/**
 * Maximum length, in characters, of a value or default in the table. Longer ones are in a section
 * below it.
 */
const MAX_CELL_LENGTH = 44;

/** Escapes a cell of a Markdown table. */
const cell = (text: string) => text.replaceAll('|', '\\|');

const describe = (key: SettingKey): { readonly row: string; readonly section: readonly string[] } => {
  const { name, expected, default: standard, flag, doc }: SettingDefinition<unknown> = settingsTable[key];
  const value = `\`${formatLiteral(standard)}\``;
  const isShort = (text: string) => text.length <= MAX_CELL_LENGTH;
  const section = [
    ...(isShort(expected) ? [] : [`The value is ${expected}.`]),
    ...(isShort(value) ? [] : [`The default is ${value}.`]),
    ...(settingDetails[key] ?? []),
  ];
  const cells = [`\`${name}\``, isShort(expected) ? expected : 'see below', isShort(value) ? value : 'see below'];
  return {
    row: `| ${[...cells, flag === undefined ? '' : `\`${flag}\``, doc].map(cell).join(' | ')} |`,
    section: section.length === 0 ? [] : [`### \`${name}\``, [doc, ...section].join('\n')],
  };
};

function settingsOf(rows: Group['rows']): readonly string[] {
  const settings = settingKeys.filter((key) => key in rows).map(describe);
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
    ...groups.map(({ title, text, rows }) =>
      [`## ${title}`, ...(text === undefined ? [] : [text]), ...settingsOf(rows)].join('\n\n'),
    ),
    unusedNamesSection(),
    passwordFileSection,
    signalsSection,
  ].join('\n\n')}\n`;
}

const introduction = `<!-- Made by \`npm run generate\` from packages/bmc-daemon/src/config: change that, not this. -->

# Configuration of bmc-daemon

<!-- commands: installed bmc-conf -->

\`\`\`sh
bmc-daemon check --strict --config /etc/bmc-daemon/bmc-daemon.conf # prints faults and effective settings
\`\`\`

\`\`\`sh service
bmc-daemon --config /etc/bmc-daemon/bmc-daemon.conf
\`\`\``;

const fileSection = `## The file

- The file contains assignments of Python literals: strings (\`'a'\`, \`"a"\`, \`r'a'\`, \`u'a'\`, \`'''a'''\`),
  numbers, \`None\`, \`True\`, \`False\`, lists, tuples and mappings, with comments. Adjacent strings are one string.
- The daemon parses the file and never executes it.
- Relative paths are relative to the file.
- An unknown name causes a warning with the nearest known name. A wrong value stops the start, with file and line.

A flag overrides the file, the file overrides the environment, and the environment overrides the default.
Environment variables have the names of the settings; their strings need no quotes. \`EMULATOR_CONFIG\` in
the environment names the file.`;

const sushyEmulatorSection = `## A configuration of sushy-emulator

The package also installs the command \`sushy-emulator\` with the same flags. A configuration of
sushy-emulator works unchanged:

- Every name may begin with \`SUSHY_EMULATOR_\` instead of \`EMULATOR_\`. If both are set, \`EMULATOR_\` wins.
- The file may contain imports, names of earlier lines and \`__file__\`.
- The daemon evaluates these functions:
  - \`os.path.join\`, \`dirname\`, \`basename\`, \`abspath\`, \`realpath\`, \`normpath\` and \`expanduser\`
  - \`os.getcwd\`, \`os.getenv\`, \`os.environ\`
  - \`pathlib.Path\` with \`/\`, \`parent\`, \`name\`, \`resolve\`, \`absolute\`, \`expanduser\` and \`joinpath\`
  - \`str\`, and \`+\` between strings or lists
- Any other code in a setting stops the start. The message shows the line to write instead. The daemon ignores
  code in a name that no setting uses.
- The daemon reads a port in quotes as a number. It reads \`'Uefi'\` in the map of boot loaders as \`'UEFI'\`, with a
  warning.
- \`SUSHY_EMULATOR_FAKE_SYSTEMS\` creates those machines in memory.
- \`FAKE_IPA_*\` and \`SUSHY_FAKE_IPA_*\` are settings of a fake deploy agent that reads the same file. The daemon
  ignores them.

The daemon reports each change of a fake system with \`external_notifier\` to \`EXTERNAL_NOTIFICATION_URL\`, as
sushy-tools does: PUT, with the system as JSON. It reports a power action twice: first with \`pending_power\`, then
with the new \`power_state\`. The fake machines change at once; those of sushy-tools take up to 11 seconds.`;

function unusedNamesSection(): string {
  const unused = new Map<string, string[]>();
  for (const [stem, purpose] of Object.entries(recognizedNames))
    unused.set(purpose, [...(unused.get(purpose) ?? []), `\`SUSHY_EMULATOR_${stem}\``]);
  return `## Unused names of sushy-tools

The daemon accepts these names with a warning.

${[...unused].map(([purpose, names]) => [`- ${purpose}:`, ...names.map((name) => `  - ${name}`)].join('\n')).join('\n')}`;
}

const passwordFileSection = `## The password file

Each line is \`user:hash\` with a bcrypt hash (\`$2a$\`, \`$2b$\`, \`$2y$\`) of a cost from 4 to 17.
\`bmc-daemon htpasswd FILE USER\` or \`htpasswd -B\` makes it. Any other line and a missing file stop the start.

**Changes.** While requests arrive, the daemon checks the file once a second:

- A removed user has no access any more.
- A damaged line gives no access; the log names it.
- While the file is missing, no user has access.
- If a user has two lines, the first line counts.

**Passwords.** bcrypt uses the first 72 bytes of a password. \`bmc-daemon htpasswd\` rejects longer passwords. Names
and passwords are UTF-8. The daemon reads other bytes as Latin-1, which python-requests sends.

**Cache.** The daemon keeps a correct password in memory, as a keyed digest, until its line changes. bcrypt
therefore runs once for each user, not for each request. Wrong passwords are delayed, and correct ones work
during an attack: see [accounts](../guides/accounts.md#log-ins-during-password-guessing).`;

const signalsSection = `## Signals

| Signal | Effect |
| --- | --- |
| SIGTERM, SIGINT | The daemon shuts down with exit code 0. |
| A second SIGTERM or SIGINT | The daemon ends at once. |
| SIGHUP | The daemon reloads the configuration. |

**Shutdown.** The daemon accepts no more connections. Running requests may finish within
\`${settingsTable.shutdownWaitSeconds.name}\`.

**Reload.** Sessions, tasks and subscriptions continue. \`Manager.Reset\` of any manager does the same. These
settings change at once:

${reloadableKeys.map((key) => `- \`${settingsTable[key].name}\``).join('\n')}

The log names other changed settings; they need a restart. The daemon ignores a configuration with a fault,
and a certificate and key that it cannot use, and logs the reason.`;
