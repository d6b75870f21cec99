/** Syntax of the arguments and options of commands. */
import type { ArgumentDefinition, CommandDefinition, OptionDefinition } from '../commands/command.js';
import { allOption, configOption, machinesArgument, remoteOptions } from '../commands/remote.js';

/** Returns all options of a command: its own, those for services if it connects to services, and `--config`. */
export const optionsOf = ({ options = [], isRemote = false }: CommandDefinition): readonly OptionDefinition[] => [
  ...options,
  ...(isRemote ? remoteOptions : []),
  configOption,
];

/** Returns the flags of an option, such as `-c, --context <name>`. */
export const flagsOf = ({ name, letter, value }: OptionDefinition): string =>
  `${letter === undefined ? '' : `-${letter}, `}--${name}${value === undefined ? '' : ` <${value}>`}`;

/** Returns an argument, such as `[machines...]`. */
export function argumentText({ name, isOptional = false, isList = false }: ArgumentDefinition): string {
  const inner = name + (isList ? '...' : '');
  return isOptional ? `[${inner}]` : `<${inner}>`;
}

/** Returns the summary of an option with its default. */
export const optionText = ({ summary, default: value }: OptionDefinition): string =>
  summary + (value === undefined ? '' : ` (default: ${value})`);

/** Returns how to call a command, such as `racklessctl power on <machines...>|--all [options]`. */
export function usageOf(
  path: readonly string[],
  { arguments: positional = [], options = [] }: CommandDefinition,
): string {
  const needsMachines = options.includes(allOption);
  const texts = positional.map((argument) =>
    needsMachines && argument === machinesArgument ? `<${argument.name}...>|--all` : argumentText(argument),
  );
  return ['racklessctl', ...path, ...texts, '[options]'].join(' ');
}

/** A command that can be run, with the names that lead to it. */
export interface RunnableCommand {
  readonly path: readonly string[];
  readonly definition: CommandDefinition;
}

/** Returns a command, or all commands of a group. */
export function runnableCommands(
  definition: CommandDefinition,
  above: readonly string[] = [],
): readonly RunnableCommand[] {
  const path = [...above, definition.name];
  const own = definition.run === undefined ? [] : [{ path, definition }];
  return [...own, ...(definition.commands ?? []).flatMap((each) => runnableCommands(each, path))];
}

/** The environment variables. */
export const environmentTexts: readonly (readonly [name: string, text: string])[] = [
  ['RACKLESSCTL_CONFIG', 'file of the contexts, if there is no --config'],
  ['RACKLESSCTL_CONTEXT', 'context, if there is no --context, no --url and no RACKLESSCTL_URL'],
  ['RACKLESSCTL_URL', 'address of a service, if there is no --context and no --url'],
  ['RACKLESSCTL_USER', 'user, if neither an option nor the context names one'],
  ['RACKLESSCTL_PASSWORD', 'password, if neither an option nor the context has one'],
  ['RACKLESSCTL_CA', 'authorities to trust, if neither an option nor the context names them'],
];
