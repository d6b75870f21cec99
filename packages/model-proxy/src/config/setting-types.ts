/** What a row of the tables of settings says, and the kinds of rows that there are. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { openedPath } from '../endpoints/opened.js';

/** One row. `null` in a file says the same as leaving the key out. */
export interface SettingDefinition<T> {
  /** LiteLLM's name where it has one: `api_base`. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** Of the plain value. */
  readonly type: z.ZodType<T>;
  /** What the value has to be: stands behind "must be". For a part of a mapping or list, what that part has to be. */
  readonly expected: string;
  readonly expectedPart?: string;
  /** For the documentation; code has its defaults in defaults.ts. */
  readonly default: string;
  /** One or two sentences, for the documentation. */
  readonly doc: string;
  /** Never shown. */
  readonly secret?: true;
  /** It restricts access: a name that is nearly this one stops the start. */
  readonly protects?: true;
}

interface Row {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly default?: string;
  readonly doc: string;
  readonly secret?: true;
  readonly protects?: true;
}

const NO_DEFAULT = 'none';

function row<T>(type: z.ZodType<T>, expected: string, given: Row, expectedPart?: string): SettingDefinition<T> {
  return {
    aliases: [],
    default: NO_DEFAULT,
    ...given,
    type,
    expected,
    ...(expectedPart === undefined ? {} : { expectedPart }),
  };
}

/** A string that says something. */
export const text = (given: Row) => row(z.string().min(1), 'a string that is not empty', given);

/** A text that goes into a header, or is compared with one; around it are often line ends, from files that it was read from. */
const headerText = z
  .string()
  .trim()
  // Its other control characters, and what is not Latin-1, fit into no header (RFC 9110 §5.5).
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/);

/** A key, of which at least one character is left. */
export const key = (given: Row) => row(headerText.min(1), 'a string that is not empty and fits into a header', given);

/** A key; an empty one says the same as none (an environment variable that was left empty). */
export const optionalKey = (given: Row) =>
  row(
    headerText.transform((value) => (value === '' ? null : value)),
    'a string that fits into a header',
    given,
  );

/** `https://host/v1`, without a final slash. */
export const httpUrl = (given: Row) =>
  row(
    z
      .string()
      .refine((value) => normalUrl(value) !== undefined)
      .transform((value) => normalUrl(value) ?? value),
    'a URL such as https://host/v1, without user and query',
    given,
  );

/** Without a final slash and spaces around; undefined: it is no address of an upstream. */
export function normalUrl(text: string): string | undefined {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed)) return undefined;
  const { protocol, hostname, hash, search, username, password } = new URL(trimmed);
  const extras = hash + search + username + password;
  return /^https?:$/.test(protocol) && hostname !== '' && extras === '' ? trimmed.replace(/\/+$/, '') : undefined;
}

const trueOrFalse = z.preprocess(
  // LiteLLM takes the words as texts too, and from the environment there is nothing else.
  (value) => (typeof value === 'string' ? (booleanWord(value) ?? value) : value),
  z.boolean(),
);

/** `true` and `false` as people write them in environment variables; undefined: it is neither. */
export function booleanWord(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(word)) return true;
  return ['false', '0', 'no', 'off'].includes(word) ? false : undefined;
}

export const boolean = (given: Row) => row(trueOrFalse, 'true or false', given);

/** A number, or a text that is one (from the environment). */
const numeric = (least: number, most: number) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value),
    z.number().min(least).max(most),
  );

export const number = (least: number, most: number, given: Row) =>
  row(numeric(least, most), `a number from ${least} to ${most}`, given);

/** More does not fit into a timer of Node's (2^31 ms). */
const MOST_SECONDS = 2_000_000;

/** A time in seconds; 0: no bound. */
export const seconds = (given: Row) =>
  row(numeric(0, MOST_SECONDS), `a number of seconds from 0 (no bound) to ${MOST_SECONDS}`, given);

export const oneOf = <const T extends string>(values: readonly T[], given: Row) =>
  row(z.enum(values), `one of ${values.join(', ')}`, given);

export const texts = (given: Row) =>
  row(z.array(z.string().min(1)), 'a list of strings', given, 'a string that is not empty');

/** Paths as clients ask for them. An empty list would close everything, which no file means. */
export const routes = (given: Row) =>
  row(
    z.array(z.string().regex(/^\/[^\s?#*]*\*?$/)).min(1),
    'a list of paths that is not empty',
    given,
    'a path such as /v1/chat/completions or /vllm/*',
  );

/** Paths without a wildcard. */
export const plainRoutes = (given: Row) =>
  row(
    z.array(z.string().regex(/^\/[^\s?#*]*$/)).min(1),
    'a list of paths that is not empty',
    given,
    'a path such as /metrics, without *',
  );

/** Addresses, and subnets in CIDR notation. */
export const addresses = (given: Row) =>
  row(
    z.array(z.string().refine(isAddress)).min(1),
    'a list of IP addresses that is not empty',
    given,
    'an IP address or a subnet such as 10.0.0.0/8',
  );

function isAddress(text: string): boolean {
  const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && (prefix === undefined || Number(prefix) <= (family === 6 ? 128 : 32));
}

/** Paths below `/v1/`, which may be written with it. */
export const paths = (given: Row) =>
  row(
    z.array(
      z
        .string()
        .refine((value) => openedPath(value) !== undefined)
        .transform((value) => openedPath(value) ?? value),
    ),
    'a list of paths',
    given,
    'a path such as fim/completions, without dots, escapes and query',
  );

/** Any mapping; what is in it goes on as it is. */
export const mapping = (given: Row) => row(z.record(z.string(), z.unknown()), 'a mapping', given);

/** Names to texts; numbers and booleans are texts as well. */
export const textMapping = (given: Row) =>
  row(
    z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)),
    'a mapping of names to strings',
    given,
    'a string',
  );

/** `ssl_verify`: true, false (also as texts), or a path. */
export const verification = (given: Row) =>
  row(
    z.union([z.boolean(), z.string().min(1)]).transform((value) => {
      const word = typeof value === 'string' ? value.toLowerCase() : '';
      return word === 'true' ? true : word === 'false' ? false : value;
    }),
    'true, false, or the path of a CA bundle',
    given,
  );
