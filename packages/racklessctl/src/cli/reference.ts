/** Writes the reference page of docs/ from the definitions of the commands. */
import type { CommandDefinition } from '../commands/command.js';
import { configOption, remoteOptions } from '../commands/remote.js';
import { exitCodeTexts } from '../failure.js';
import { environmentTexts, flagsOf, optionText, runnableCommands, usageOf, type RunnableCommand } from './options.js';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replace(/\s+/g, ' ');
const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : `${[titles, titles.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')}\n\n`;

const optionRows = (options: readonly Parameters<typeof flagsOf>[0][]): readonly (readonly string[])[] =>
  options.map((option) => [`\`${flagsOf(option)}\``, cell(optionText(option))]);

function commandSection({ path, definition }: RunnableCommand): string {
  const { summary, description = [], arguments: positional = [], options = [], examples = [] } = definition;
  return [
    `### ${path.join(' ')}\n\n`,
    `${summary}.\n\n`,
    ...description.map((text) => `${cell(text)}\n\n`),
    `\`${usageOf(path, definition)}\`\n\n`,
    table(
      ['argument or option', 'meaning'],
      [...positional.map(({ name, summary: text }) => [`\`${name}\``, cell(text)]), ...optionRows(options)],
    ),
    definition.isRemote === true ? 'Also: the [options for services](#options-for-services).\n\n' : '',
    ...(examples.length === 0
      ? []
      : ['Examples:\n\n', ...examples.map(({ command, effect }) => `- \`${command}\`: ${cell(effect)}\n`), '\n']),
  ].join('');
}

function groupSection(group: CommandDefinition): string {
  const { description = [], examples = [], commands = [] } = group;
  if (commands.length === 0) return runnableCommands(group).map(commandSection).join('').replace(/^###/, '##');
  return [
    `## ${group.name}\n\n`,
    `${group.summary}.\n\n`,
    ...description.map((text) => `${cell(text)}\n\n`),
    ...(examples.length === 0
      ? []
      : ['Examples:\n\n', ...examples.map(({ command, effect }) => `- \`${command}\`: ${cell(effect)}\n`), '\n']),
    ...runnableCommands(group).map(commandSection),
  ].join('');
}

/** Returns the page as Markdown. */
export function renderReference(commands: readonly CommandDefinition[]): string {
  return [
    '# Commands of racklessctl\n\n',
    '<!-- `npm run generate` writes this page from packages/racklessctl/src/commands. -->\n\n',
    '[The guide](../guides/racklessctl.md) explains contexts, names of machines and passwords. The man pages and\n',
    '`--help` come from the same source as this page.\n\n',
    ...commands.map(groupSection),
    '## Options for services\n\n',
    'Every command that connects to services has these options:\n\n',
    table(['option', 'meaning'], optionRows(remoteOptions)),
    'Every command, also one without services, has this option:\n\n',
    table(['option', 'meaning'], optionRows([configOption])),
    '## Environment variables\n\n',
    table(
      ['variable', 'meaning'],
      environmentTexts.map(([name, text]) => [`\`${name}\``, cell(text)]),
    ),
    '## Exit codes\n\n',
    table(
      ['code', 'meaning'],
      exitCodeTexts.map(([code, text]) => [String(code), cell(text)]),
    ),
  ]
    .join('')
    .trimEnd()
    .concat('\n');
}
