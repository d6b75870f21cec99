/**
 * Definitions of commands. Parser, help, completion, man pages and the reference come from them.
 */
import type { Terminal } from '../output/terminal.js';
import { CommandFailure, commonCode, usageFailure } from '../failure.js';

/** Source of the words that complete a value in a shell. */
export type Completion = 'machines' | 'contexts' | 'files' | readonly string[];

/** A positional argument. */
export interface ArgumentDefinition {
  /** Shown as `<name>`, `[name]` or `[name...]`. */
  readonly name: string;
  readonly summary: string;
  readonly isOptional?: boolean;
  /** Whether the argument may have several values. Only the last argument of a command may. */
  readonly isList?: boolean;
  readonly completes?: Completion;
}

/** An option. */
export interface OptionDefinition {
  /** Without hyphens, such as `password-file`. */
  readonly name: string;
  /** One letter. */
  readonly letter?: string;
  /** The name of the value; undefined for a switch. */
  readonly value?: string;
  readonly summary: string;
  readonly completes?: Completion;
  /** The value that applies without the option. Only help texts and the documentation show it; no code reads it. */
  readonly default?: string;
}

/** A command line with its effect. */
export interface Example {
  readonly command: string;
  readonly effect: string;
}

/** A command, or a group of commands. */
export interface CommandDefinition {
  readonly name: string;
  /** One line, which begins with a verb. */
  readonly summary: string;
  /** Paragraphs of plain text. */
  readonly description?: readonly string[];
  readonly arguments?: readonly ArgumentDefinition[];
  readonly options?: readonly OptionDefinition[];
  /** The command connects to services, so it has the options for that. */
  readonly isRemote?: boolean;
  readonly examples?: readonly Example[];
  readonly commands?: readonly CommandDefinition[];
  readonly run?: (call: Call) => Promise<void> | void;
}

/** Returns the definition unchanged. The compiler checks its type. */
export const defineCommand = (definition: CommandDefinition): CommandDefinition => definition;

/** Longer times exceed 2^31 ms, and a timer would then fire at once. */
const MAX_SECONDS = 2_147_483;

/** One call of a command: its arguments and options, and its process. */
export class Call {
  readonly terminal: Terminal;
  readonly environment: NodeJS.ProcessEnv;
  /** Aborted when the command must end early, for example after Ctrl-C. */
  readonly signal: AbortSignal;
  readonly #arguments: ReadonlyMap<string, readonly string[]>;
  readonly #options: Readonly<Record<string, unknown>>;
  readonly #reported: CommandFailure[] = [];

  constructor(parts: {
    readonly terminal: Terminal;
    readonly environment: NodeJS.ProcessEnv;
    readonly signal: AbortSignal;
    readonly arguments: ReadonlyMap<string, readonly string[]>;
    /** By the name of {@link OptionDefinition}. */
    readonly options: Readonly<Record<string, unknown>>;
  }) {
    this.terminal = parts.terminal;
    this.environment = parts.environment;
    this.signal = parts.signal;
    this.#arguments = parts.arguments;
    this.#options = parts.options;
  }

  /** Prints a failure that does not end the command at once. Later, {@link end} uses its exit code. */
  report(label: string, failure: CommandFailure): void {
    this.terminal.complain(`${label}: ${failure.message}`);
    this.#reported.push(failure);
  }

  /**
   * Ends the command with the exit code of the failures that it has reported. Returns if there are
   * none.
   * @throws {CommandFailure} without a message.
   */
  end(): void {
    if (this.#reported.length > 0) throw new CommandFailure(commonCode(this.#reported), '');
  }

  /** Returns the value of a required argument, which the parser has checked. */
  argument(name: string): string {
    return this.#arguments.get(name)?.[0] ?? '';
  }

  /** Returns the values of an argument; an empty list if it was not given. */
  list(name: string): readonly string[] {
    return this.#arguments.get(name) ?? [];
  }

  /** Returns whether a switch was given. */
  flag(name: string): boolean {
    return this.#options[name] === true;
  }

  /** Returns the value of an option; undefined if it was not given. */
  text(name: string): string | undefined {
    const value = this.#options[name];
    return typeof value === 'string' ? value : undefined;
  }

  /**
   * Returns the value of an option as a number above 0 and below 10^9; undefined if it was not given.
   * @throws {CommandFailure} for any other text.
   */
  number(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (!/^\d{1,9}(\.\d+)?$/.test(text) || value === 0)
      throw usageFailure(`--${name} must be a number above 0, not '${text}'`);
    return value;
  }

  /**
   * Returns the milliseconds of an option whose value is in seconds; undefined if it was not given.
   * @throws {CommandFailure} if the value is no number above 0, or too large.
   */
  milliseconds(name: string): number | undefined {
    const seconds = this.number(name);
    if (seconds !== undefined && seconds > MAX_SECONDS)
      throw usageFailure(`--${name} must be ${MAX_SECONDS} s or less, not '${seconds}'`);
    return seconds === undefined ? undefined : seconds * 1000;
  }

  /**
   * Returns the value of an option that allows only some values; undefined if it was not given.
   * @throws {CommandFailure} for any other value.
   */
  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const choice = choices.find((each) => each === text);
    if (choice === undefined) throw usageFailure(`--${name} must be one of ${choices.join(', ')}, not '${text}'`);
    return choice;
  }
}
