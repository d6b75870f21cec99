/** docs/reference/bmc-daemon-configuration.md, made from the table of settings (`npm run generate`; a test keeps it true). */
import { formatLiteral } from './python-format.js';
import { reloadableKeys } from './reloadable.js';
import { recognisedNames, settingKeys, settingsTable, type SettingDefinition } from './settings.js';

/** Group, title, and what stands above its table. */
const GROUPS: readonly (readonly [SettingDefinition<unknown>['group'], string, string?])[] = [
  ['spec', 'The settings of the specification'],
  ['listen', 'The service'],
  ['backend', 'The machines'],
  [
    'inventory',
    'Chassis and storage',
    `Where none of these is given everything is the machine's own: a chassis for each, and storage by the buses that its disks are on. What a client
makes with \`POST\` on Volumes is a volume of the pool **and a disk of the machine**, where sushy-emulator makes the volume alone;
[libvirt-hosts.md](../guides/libvirt-hosts.md) says how, and what \`DELETE\` deletes. Of a mapping's lists, members that sushy-tools does not know are passed over.`,
  ],
  ['media', 'Virtual media'],
  ['log', 'The log'],
];

/** A cell of a Markdown table: a bar would end it. */
const cell = (text: string) => text.replaceAll('|', '\\|');

function table(group: SettingDefinition<unknown>['group']): string {
  const rows = settingKeys
    .map((key): SettingDefinition<unknown> => settingsTable[key])
    .filter((row) => row.group === group)
    .map((row) => {
      const flag = row.flag === undefined ? '' : `\`${row.flag}\``;
      return `| \`${row.name}\` | ${cell(row.expected)} | \`${cell(formatLiteral(row.default))}\` | ${flag} | ${cell(row.doc)} |`;
    });
  return ['| Name | Value | Default | Flag | Meaning |', '| --- | --- | --- | --- | --- |', ...rows].join('\n');
}

/** The whole page, with a newline at its end. */
export function renderConfigurationPage(): string {
  const unused = new Map<string, string[]>();
  for (const [stem, purpose] of Object.entries(recognisedNames))
    unused.set(purpose, [...(unused.get(purpose) ?? []), `\`SUSHY_EMULATOR_${stem}\``]);

  return `<!-- Made by \`npm run generate\` from packages/bmc-daemon/src/config/settings.ts: change that, not this. -->

# Configuration of bmc-daemon

<!-- commands: installed bmc-conf -->

\`\`\`sh
bmc-daemon check --strict --config /etc/bmc-daemon/bmc-daemon.conf # prints faults, unknown settings and the effective settings
\`\`\`

\`\`\`sh service
bmc-daemon --config /etc/bmc-daemon/bmc-daemon.conf
\`\`\`

The file is assignments of Python literals: strings (\`'a'\`, \`"a"\`, \`r'a'\`, \`u'a'\`, \`'''a'''\`, side by side they are one), numbers,
\`None\`, \`True\`, \`False\`, lists, tuples and mappings, with comments. The daemon parses the file and never executes it. Relative paths are relative to the file. An unknown name is a warning with the nearest known one, a wrong value stops the
start with file and line.

A flag wins over the file, the file over the environment (variables of the same names; a string stands there without quotes), the
environment over the default. \`EMULATOR_CONFIG\` in the environment names the file.

## A configuration of sushy-emulator

The package also installs the command \`sushy-emulator\`, with the same flags. A configuration of sushy-emulator works unchanged:

- Every name may begin with \`SUSHY_EMULATOR_\` instead of \`EMULATOR_\`. Where both are set, \`EMULATOR_\` wins.
- Imports, names of earlier lines and \`__file__\` are read.
- These functions are computed: \`os.path.join\`, \`dirname\`, \`basename\`, \`abspath\`, \`realpath\`, \`normpath\` and \`expanduser\`;
  \`os.getcwd\`, \`os.getenv\`, \`os.environ\`; \`pathlib.Path\` with \`/\`, \`parent\`, \`name\`, \`resolve\`, \`absolute\`, \`expanduser\` and
  \`joinpath\`; \`str\`; \`+\` between strings or lists.
- Any other code in a setting stops the start. The message shows the line to write instead. Code in a name that no setting uses is ignored.
- A port in quotes is read as a number. \`'Uefi'\` in the map of boot loaders is read as \`'UEFI'\`, with a warning.
- \`SUSHY_EMULATOR_FAKE_SYSTEMS\` makes those machines in memory. A system with \`external_notifier\` is reported to
  \`EXTERNAL_NOTIFICATION_URL\` at each change, as sushy-tools does it: PUT, the system as JSON. A power action is reported twice, first with
  \`pending_power\`, then with the new \`power_state\`. The fake machines obey at once, where those of sushy-tools take up to 11 seconds.
- \`FAKE_IPA_*\` and \`SUSHY_FAKE_IPA_*\` are settings of a fake deploy agent that reads the same file. They are ignored.

${GROUPS.map(([group, title, text]) => [`## ${title}`, ...(text === undefined ? [] : [text]), table(group)].join('\n\n')).join('\n\n')}

## Names of sushy-tools without a use yet

They are accepted with a warning.

${[...unused].map(([purpose, names]) => `- ${purpose}: ${names.join(', ')}`).join('\n')}

## The password file

A line \`user:hash\` for each user, with bcrypt hashes (\`$2a$\`, \`$2b$\`, \`$2y$\`) of a cost from 4 to 17; make it with
\`bmc-daemon htpasswd FILE USER\` or \`htpasswd -B\`. Anything else in it stops the start, and so does a missing file.

The file is looked at once a second while requests come in, and the file as it is then decides: a user who was taken out is out, a line that
was damaged lets nobody in (and is logged), a file that is gone lets nobody in until it is back. Where a user has two lines the first holds.

bcrypt looks at the first 72 bytes of a password, so longer ones are equal to their beginning; \`bmc-daemon htpasswd\` refuses them. Names and
passwords are UTF-8; what is no UTF-8 is taken as Latin-1, which python-requests sends.

A password that was right is remembered in memory, as a keyed digest, until its line changes. So bcrypt
runs once for each user and not for each request. Wrong ones are slowed down, and correct ones get in
during an attack: see [accounts](../guides/accounts.md#log-ins-during-password-guessing).

## Signals

| Signal | What happens |
| --- | --- |
| SIGTERM, SIGINT | No more connections; requests under way may end (\`${settingsTable.shutdownWaitSeconds.name}\`); exit code 0. A second one ends at once. |
| SIGHUP | The configuration is read again; sessions, tasks and subscriptions stay. Taken at once: ${reloadableKeys.map((key) => `\`${settingsTable[key].name}\``).join(', ')}. Of other settings that have changed the log says that they wait for the next start. A configuration with a fault is not taken, and a certificate and key that can not be used are not. \`Manager.Reset\` of any manager does the same. |
`;
}
