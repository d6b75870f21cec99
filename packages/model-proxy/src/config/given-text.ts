/** Settings that are texts by nature: what flags and environment variables give. */
import type { Environment } from '../settings.js';
import { ENVIRONMENT, type COMMAND_LINE, type Findings } from './faults.js';

/** A text and who gave it. */
export interface GivenText {
  readonly text: string;
  /** How a message about it begins: `command line: --port`, `environment: PORT`. */
  readonly place: string;
  readonly origin: typeof COMMAND_LINE;
}

/** A variable's text. An empty one counts as none: that is how compose files and units leave one out. */
export function fromEnvironment(environment: Environment, variable: string): GivenText | undefined {
  const text = environment[variable];
  if (text === undefined || text === '') return undefined;
  return { text, place: `environment: ${variable}`, origin: ENVIRONMENT };
}

export interface NumberRules {
  /** What its text has to be before it is looked at as a number. */
  readonly pattern: RegExp;
  readonly most: number;
  /** Stands behind "must be". */
  readonly expected: string;
  readonly findings: Findings;
}

/** The number that a text is. @returns undefined: there is no text, or it is none, which is noted. */
export function readNumber(given: GivenText | undefined, rules: NumberRules): number | undefined {
  const { pattern, most, expected, findings } = rules;
  if (given === undefined) return undefined;
  const text = given.text.trim();
  if (pattern.test(text) && Number(text) <= most) return Number(text);
  findings.faultAt(given.origin, `${given.place} must be ${expected}, not ${JSON.stringify(given.text)}`);
  return undefined;
}

/** A time in seconds, at most a day. */
export function readSeconds(given: GivenText | undefined, findings: Findings): number | undefined {
  const expected = 'a number of seconds from 0 to 86400';
  return readNumber(given, { pattern: /^\d{1,6}(\.\d+)?$/, most: 86_400, expected, findings });
}
