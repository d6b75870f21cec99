/** Writes man pages from the definitions of the commands. */
import type { CommandDefinition, Example, OptionDefinition } from '../commands/command.js';
import { configOption, remoteOptions } from '../commands/remote.js';
import { exitCodeTexts } from '../failure.js';
import { version } from '../version.js';
import { environmentTexts, flagsOf, optionText, runnableCommands, usageOf, type RunnableCommand } from './options.js';

/** Escapes a text for roff. A period or a quote at the beginning of a line would be a request. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('…', '...')
    .replaceAll('→', '\\(->')
    .replace(/^\./gm, '\\&.');

const header = (name: string, summary: string): string =>
  `.TH ${name.toUpperCase()} 1 "" "racklessctl ${version}" "User Commands"\n` +
  `.SH NAME\n${roff(name)} \\- ${roff(summary.charAt(0).toLowerCase() + summary.slice(1))}\n`;

const entries = (list: readonly (readonly [term: string, text: string])[]): string =>
  list.map(([term, text]) => `.TP\n\\fB${roff(term)}\\fR\n${roff(text)}\n`).join('');

const paragraphs = (texts: readonly string[]): string => texts.map((text) => `.PP\n${roff(text)}\n`).join('');

const examplesOf = (examples: readonly Example[]): string =>
  examples.length === 0
    ? ''
    : `.SH EXAMPLES\n${examples.map(({ command, effect }) => `.TP\n\\fB${roff(command)}\\fR\n${roff(effect)}\n`).join('')}`;

const seeAlso = (names: readonly string[]): string =>
  `.SH SEE ALSO\n${names.map((name) => `\\fB${roff(name)}\\fR(1)`).join(', ')}\n`;

/** Returns the man pages of all commands by file name: `racklessctl.1`, `racklessctl-power.1`, … */
export function manualPages(commands: readonly CommandDefinition[]): Readonly<Record<string, string>> {
  const pages = commands.map((command) => [`racklessctl-${command.name}.1`, commandPage(command)] as const);
  return { 'racklessctl.1': overview(commands), ...Object.fromEntries(pages) };
}

function overview(commands: readonly CommandDefinition[]): string {
  return [
    header('racklessctl', 'Control machines through Redfish services'),
    '.SH SYNOPSIS\n\\fBracklessctl\\fR \\fIcommand\\fR [\\fIarguments\\fR] [\\fIoptions\\fR]\n',
    '.SH DESCRIPTION\n',
    roff('racklessctl controls the machines of bmc-daemon and of the BMCs of real servers.') + '\n',
    '.SH COMMANDS\n',
    entries(commands.map(({ name, summary }) => [name, `${summary}. See racklessctl-${name}(1).`])),
    '.SH EXIT STATUS\n',
    entries(exitCodeTexts.map(([code, text]) => [String(code), text])),
    '.SH ENVIRONMENT\n',
    entries(environmentTexts),
    '.SH FILES\n',
    entries([['~/.config/racklessctl/contexts.yaml', 'The contexts. See racklessctl-context(1).']]),
    seeAlso(commands.map(({ name }) => `racklessctl-${name}`)),
  ].join('');
}

function commandPage(command: CommandDefinition): string {
  const runnable = runnableCommands(command);
  const isGroup = command.run === undefined;
  const synopsis = runnable.map(({ path, definition }) => roff(usageOf(path, definition))).join('\n.br\n');
  const isRemote = runnable.some(({ definition }) => definition.isRemote === true);
  const examples = [command.examples ?? [], ...(command.commands ?? []).map((each) => each.examples ?? [])].flat();
  return [
    header(`racklessctl-${command.name}`, command.summary),
    `.SH SYNOPSIS\n${synopsis}\n`,
    `.SH DESCRIPTION\n${roff(`${command.summary}.`)}\n`,
    paragraphs(command.description ?? []),
    isGroup ? '.SH COMMANDS\n' : '.SH OPTIONS\n',
    ...runnable.map((each) => (isGroup ? sectionOf(each) : parametersOf(each))),
    isGroup ? '.SH OPTIONS OF ALL COMMANDS\n' : '',
    optionEntries([...(isRemote ? remoteOptions : []), configOption]),
    examplesOf(examples),
    seeAlso(['racklessctl']),
  ].join('');
}

const optionEntries = (options: readonly OptionDefinition[]): string =>
  entries(options.map((option) => [flagsOf(option), optionText(option)]));

const parametersOf = ({ definition }: RunnableCommand): string =>
  entries((definition.arguments ?? []).map(({ name, summary }) => [name, summary])) +
  optionEntries(definition.options ?? []);

const sectionOf = (command: RunnableCommand): string =>
  [
    `.SS "${roff(command.path.join(' '))}"\n${roff(`${command.definition.summary}.`)}\n`,
    paragraphs(command.definition.description ?? []),
    parametersOf(command),
  ].join('');
