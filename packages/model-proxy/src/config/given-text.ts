/** Reads settings that are always strings: flags and environment variables. */
import type { Environment } from '../settings.js';
import { ENVIRONMENT, type COMMAND_LINE, type Findings } from './faults.js';

/** A string and its origin. */
export interface GivenText {
  readonly text: string;
  /** Beginning of messages about the string, such as `command line: --port` or `environment: PORT`. */
  readonly place: string;
  readonly origin: typeof COMMAND_LINE;
}

/**
 * Returns a variable's value. An empty variable counts as not set: compose files and systemd units
 * cannot remove a variable, and make it empty instead.
 */
export function fromEnvironment(environment: Environment, variable: string): GivenText | undefined {
  const text = environment[variable];
  if (text === undefined || text === '') return undefined;
  return { text, place: `environment: ${variable}`, origin: ENVIRONMENT };
}

/** Rules for {@link readNumber}. */
interface NumberRules {
  /** Format of the string without surrounding spaces. */
  readonly pattern: RegExp;
  readonly max: number;
  /** Completes the message "must be …". */
  readonly expected: string;
  readonly findings: Findings;
}

/**
 * Parses a number.
 * @returns undefined if there is no string, or if the string is not valid. An invalid string adds a
 *   fault.
 */
export function readNumber(given: GivenText | undefined, rules: NumberRules): number | undefined {
  const { pattern, max, expected, findings } = rules;
  if (given === undefined) return undefined;
  const text = given.text.trim();
  if (pattern.test(text) && Number(text) <= max) return Number(text);
  findings.faultAt(given.origin, `${given.place} must be ${expected}, not ${JSON.stringify(given.text)}`);
  return undefined;
}

/** Parses a time in seconds, at most one day, as {@link readNumber} does. */
export function readSeconds(given: GivenText | undefined, findings: Findings): number | undefined {
  const expected = 'a number of seconds from 0 to 86400';
  return readNumber(given, { pattern: /^\d{1,6}(\.\d+)?$/, max: 86_400, expected, findings });
}
