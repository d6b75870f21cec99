/** What a row of the tables of settings says, and the kinds of rows that there are. */
import {
  anyText,
  anything,
  listOf,
  mappingOf,
  numberFrom,
  scalarText,
  textThat,
  trueOrFalse,
  type Check,
} from './check.js';

/** One row. `null` in a file says the same as leaving the key out. */
export interface SettingDefinition<T> {
  /** LiteLLM's name where it has one: `api_base`. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** Of the plain value. */
  readonly check: Check<T>;
  /** What the value has to be: stands behind "must be". For a part of a mapping or list, what that part has to be. */
  readonly expected: string;
  readonly expectedPart?: string;
  /** For the documentation; code has its defaults in defaults.ts. */
  readonly default: string;
  /** One or two sentences, for the documentation. */
  readonly doc: string;
  /** Never shown. */
  readonly secret?: true;
}

interface Row {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly default?: string;
  readonly doc: string;
  readonly secret?: true;
}

const NO_DEFAULT = 'none';

function row<T>(check: Check<T>, expected: string, given: Row, expectedPart?: string): SettingDefinition<T> {
  return {
    aliases: [],
    default: NO_DEFAULT,
    ...given,
    check,
    expected,
    ...(expectedPart === undefined ? {} : { expectedPart }),
  };
}

const NOT_EMPTY = 'a string that is not empty';

/** A string that says something. */
export const text = (given: Row) => row(anyText, NOT_EMPTY, given);

/**
 * A text that goes into a header, or is compared with one; around it are often line ends, from files that it was read from.
 * @returns undefined: it has control characters or is not Latin-1, which fits into no header (RFC 9110 §5.5).
 */
export function headerText(given: string): string | undefined {
  const trimmed = given.trim();
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(trimmed) ? trimmed : undefined;
}

/** A key, of which at least one character is left. */
export const key = (given: Row) =>
  row(
    textThat((value) => (value.trim() === '' ? undefined : headerText(value))),
    `${NOT_EMPTY} and fits into a header`,
    given,
  );

/** A key; an empty one, which says the same as none, is an environment variable that was left empty. */
export const optionalKey = (given: Row) => row(textThat(headerText), 'a string that fits into a header', given);

/** `https://host/v1`, without a final slash. */
export const httpUrl = (given: Row) =>
  row(textThat(normalUrl), 'a URL such as https://host/v1, without user and query', given);

/** Without a final slash and spaces around; undefined: it is no address of an upstream. */
export function normalUrl(given: string): string | undefined {
  const trimmed = given.trim();
  if (!URL.canParse(trimmed)) return undefined;
  const { protocol, hostname, hash, search, username, password } = new URL(trimmed);
  const extras = hash + search + username + password;
  return /^https?:$/.test(protocol) && hostname !== '' && extras === '' ? trimmed.replace(/\/+$/, '') : undefined;
}

export const boolean = (given: Row) => row(trueOrFalse, 'true or false', given);

export const number = (least: number, most: number, given: Row) =>
  row(numberFrom(least, most), `a number from ${least} to ${most}`, given);

/** More does not fit into a timer of Node's (2^31 ms). */
const MOST_SECONDS = 2_000_000;

/** A time in seconds; 0: no bound. */
export const seconds = (given: Row) =>
  row(numberFrom(0, MOST_SECONDS), `a number of seconds from 0 (no bound) to ${MOST_SECONDS}`, given);

export const oneOf = <const T extends string>(values: readonly T[], given: Row) =>
  row(
    textThat((value) => values.find((known) => known === value)),
    `one of ${values.join(', ')}`,
    given,
  );

export const texts = (given: Row) => row(listOf(anyText), 'a list of strings', given, NOT_EMPTY);

/** Any mapping; what is in it goes on as it is. */
export const mapping = (given: Row) => row(mappingOf(anything), 'a mapping', given);

/** Names to texts; numbers and booleans are texts as well. */
export const textMapping = (given: Row) =>
  row(mappingOf(scalarText), 'a mapping of names to strings', given, 'a string');

/** `ssl_verify`: true, false (also as texts), or a path. */
export const verification = (given: Row) =>
  row(
    (value): ReturnType<Check<string | boolean>> => (typeof value === 'boolean' ? { value } : verificationText(value)),
    'true, false, or the path of a CA bundle',
    given,
  );

const verificationText = textThat((value): string | boolean | undefined => {
  const word = value.toLowerCase();
  if (word === 'true') return true;
  return word === 'false' ? false : value === '' ? undefined : value;
});
