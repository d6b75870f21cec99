/** Completes a command line, for the completion scripts of bash, zsh and fish. */
import type { ArgumentDefinition, CommandDefinition, Completion, OptionDefinition } from '../commands/command.js';
import { optionsOf } from './options.js';

/** A word that may follow. */
export interface Candidate {
  readonly value: string;
  readonly summary: string;
}

/** Words that may follow. `files`: the shell completes names of files. */
type Candidates = readonly Candidate[] | 'files';

/**
 * Functions that return names from files and services. They are called only when the names are
 * needed.
 */
interface NameSources {
  readonly contexts: () => readonly Candidate[];
  /** @param options the options that the user has typed, by their names. */
  readonly machines: (options: Readonly<Record<string, string | true>>) => Promise<readonly Candidate[]>;
}

/** The state of a command line before the word to complete. */
interface Position {
  /** The commands that may follow next. */
  readonly commands: readonly CommandDefinition[];
  /** The command so far; undefined before the first one. */
  readonly definition: CommandDefinition | undefined;
  readonly positional: readonly string[];
  readonly options: Readonly<Record<string, string | true>>;
  /** The option whose value comes next. */
  readonly pendingOption: OptionDefinition | undefined;
}

/** Removes the quotes that the user has typed around a word. */
const unquoted = (word: string): string => word.replace(/^(['"])([^]*)\1$/, '$2').replace(/^['"]/, '');

/**
 * Returns whether a word needs no quotes in any shell. The name of a machine comes from a service, and
 * may contain any character.
 */
const isSafe = ({ value }: Candidate): boolean => /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(value);

/** Returns the option that a word names, as in `--context`, `--context=…` or `-c`; undefined if there is none. */
function optionNamed(options: readonly OptionDefinition[], word: string): OptionDefinition | undefined {
  const [flag = ''] = word.split('=', 1);
  return options.find(({ name, letter }) => flag === `--${name}` || (letter !== undefined && flag === `-${letter}`));
}

function readWord(position: Position, word: string): Position {
  const { definition, options, pendingOption, positional, commands } = position;
  if (pendingOption !== undefined)
    return { ...position, options: { ...options, [pendingOption.name]: word }, pendingOption: undefined };
  if (word.startsWith('-')) {
    const option = definition === undefined ? undefined : optionNamed(optionsOf(definition), word);
    if (option === undefined) return position;
    const [, value] = /^[^=]*=(.*)$/.exec(word) ?? [];
    if (option.value !== undefined && value === undefined) return { ...position, pendingOption: option };
    return { ...position, options: { ...options, [option.name]: value ?? true } };
  }
  const command = commands.find(({ name }) => name === word);
  if (command !== undefined) return { ...position, definition: command, commands: command.commands ?? [] };
  return { ...position, positional: [...positional, word] };
}

/**
 * Returns the words that may replace the last word: those that begin with it and need no quotes.
 * @param words the words after `racklessctl`; the last one is incomplete and may be empty.
 */
export async function complete(
  words: readonly string[],
  commands: readonly CommandDefinition[],
  sources: NameSources,
): Promise<Candidates> {
  const current = unquoted(words.at(-1) ?? '');
  const start: Position = { commands, definition: undefined, positional: [], options: {}, pendingOption: undefined };
  const position = words.slice(0, -1).map(unquoted).reduce(readWord, start);
  const found = await candidatesAt(position, current, sources);
  if (found === 'files') return found;
  return found.filter((each) => each.value.startsWith(current) && isSafe(each));
}

async function candidatesAt(position: Position, current: string, sources: NameSources): Promise<Candidates> {
  const { definition, commands, positional, pendingOption, options } = position;
  if (pendingOption !== undefined) return candidatesFor(pendingOption.completes, position, sources);
  if (current.startsWith('-')) {
    const all = definition === undefined ? [] : optionsOf(definition);
    const left = all.filter(({ name }) => options[name] === undefined);
    const general = [{ name: 'help', summary: 'show the help' }];
    return [...left, ...general].map(({ name, summary }) => ({ value: `--${name}`, summary }));
  }
  if (commands.length > 0) {
    return commands.map(({ name, summary }) => ({ value: name, summary }));
  }
  return candidatesFor(argumentAt(definition, positional.length)?.completes, position, sources);
}

function argumentAt(definition: CommandDefinition | undefined, index: number): ArgumentDefinition | undefined {
  const all = definition?.arguments ?? [];
  const last = all.at(-1);
  return all[index] ?? (last?.isList === true ? last : undefined);
}

async function candidatesFor(
  completion: Completion | undefined,
  { options, positional }: Position,
  sources: NameSources,
): Promise<Candidates> {
  if (completion === undefined) return [];
  if (completion === 'files') return 'files';
  if (completion === 'contexts') return sources.contexts();
  if (completion === 'machines') {
    const machines = await sources.machines(options);
    return machines.filter(({ value }) => !positional.includes(value));
  }
  return completion.map((value) => ({ value, summary: '' }));
}
