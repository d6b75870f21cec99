/** Makes commander's parser from the definitions of the commands. */
import { Argument, Command, Option } from 'commander';
import type { CommandDefinition, Example } from '../commands/command.js';
import { version } from '../version.js';
import { argumentText, flagsOf, optionsOf, optionText } from './options.js';

/** The values of one command line, by the names of the definitions. */
export interface ParsedCall {
  readonly definition: CommandDefinition;
  readonly arguments: ReadonlyMap<string, readonly string[]>;
  readonly options: Readonly<Record<string, unknown>>;
}

const examplesText = (examples: readonly Example[]): string =>
  ['\nExamples:', ...examples.map(({ command, effect }) => `  ${command}\n      ${effect}`)].join('\n');

function addCommand(parent: Command, definition: CommandDefinition, run: (call: ParsedCall) => Promise<void>): void {
  const { name, summary, description = [], examples = [], commands = [] } = definition;
  const command = parent
    .command(name)
    .summary(summary)
    .description([`${summary}.`, ...description].join('\n\n'))
    .helpCommand(false)
    .allowExcessArguments(false);
  if (examples.length > 0) command.addHelpText('after', examplesText(examples));
  for (const each of commands) addCommand(command, each, run);
  if (definition.run === undefined) return;
  const positional = definition.arguments ?? [];
  for (const argument of positional) command.addArgument(new Argument(argumentText(argument), argument.summary));
  for (const option of optionsOf(definition)) {
    // Commander stores the value under another form of the name: see `camelCase`.
    command.addOption(new Option(flagsOf(option), optionText(option)));
  }
  command.action(async (...values: unknown[]) => {
    const given = positional.map(({ name: each }, index): [string, readonly string[]] => [
      each,
      textsOf(values[index]),
    ]);
    const options = optionsOf(definition).map((option) => [
      option.name,
      command.getOptionValue(camelCase(option.name)) as unknown,
    ]);
    await run({
      definition,
      arguments: new Map(given),
      options: Object.fromEntries(options) as Record<string, unknown>,
    });
  });
}

/** Commander's names of options: `passwordFile` for `--password-file`. */
const camelCase = (name: string): string => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

const textsOf = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? (value as readonly unknown[]) : [value]).filter((each) => typeof each === 'string');

/**
 * Returns the parser. The parser calls `run` for the command of a command line. It throws commander's errors, also
 * after it has printed the help or the version.
 */
export function createParser(
  commands: readonly CommandDefinition[],
  run: (call: ParsedCall) => Promise<void>,
): Command {
  const program = new Command('racklessctl')
    .description('A command line for Redfish services: machines of bmc-daemon and BMCs of real servers.')
    .version(version, '--version', 'print the version')
    .allowExcessArguments(false)
    .configureHelp({ showGlobalOptions: false })
    .showSuggestionAfterError(true)
    .exitOverride();
  for (const definition of commands) addCommand(program, definition, run);
  return program;
}
