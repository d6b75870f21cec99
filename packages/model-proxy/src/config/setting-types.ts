/** The row type of the settings tables, and a factory for each type of value. */
import { readNetwork } from '@rackless/daemon/network/ip-networks.js';
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { z } from 'zod';
import { routePattern } from '../auth/gate.js';
import { parseForwardedPath } from '../endpoints/forwarded-path.js';
import { MAX_TIMEOUT_SECONDS } from '../providers/deployment.js';

/** A row of a settings table. A value of `null` in a file means that the setting is not set. */
export interface SettingDefinition<T> {
  /** LiteLLM's name if it has one, such as `api_base`. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** Checks and converts the value. */
  readonly type: z.ZodType<T>;
  /**
   * Completes the message "must be …"; `expectedPart` does so for an element of a list or mapping.
   */
  readonly expected: string;
  readonly expectedPart?: string;
  /** For the documentation only; the code takes its defaults from defaults.ts. */
  readonly default: string;
  /** The meaning in a few sentences, for the documentation. */
  readonly doc: string;
  /** Messages about the setting do not show its value. */
  readonly secret?: true;
  /** The setting restricts access: a misspelled name or a wrong block prevents the start. */
  readonly protects?: true;
}

/** A row without its type: the names, the documentation, and what is special about the setting. */
export interface Row {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly default?: string;
  readonly doc: string;
  readonly secret?: true;
  readonly protects?: true;
}

const NO_DEFAULT = 'none';

/** Makes a row for a type. */
export function row<T>(type: z.ZodType<T>, expected: string, given: Row, expectedPart?: string): SettingDefinition<T> {
  return {
    aliases: [],
    default: NO_DEFAULT,
    ...given,
    type,
    expected,
    ...(expectedPart === undefined ? {} : { expectedPart }),
  };
}

/** Defines a string that is not empty. */
export const text = (given: Row) => row(z.string().min(1), 'a string that is not empty', given);

/**
 * A value for a header, or for comparison with a header. It is trimmed, because values from files
 * often end with a line end.
 */
const headerText = z
  .string()
  .trim()
  // Headers cannot contain other control characters, or characters outside of Latin-1 (RFC 9110
  // §5.5).
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/);

/** Defines a key that is not empty after trimming. */
export const key = (given: Row) => row(headerText.min(1), 'a string that is not empty and is valid in a header', given);

/**
 * Defines a key that may be empty. Empty means no key, as with an environment variable that was
 * left empty.
 */
export const optionalKey = (given: Row) =>
  row(
    headerText.transform((value) => (value === '' ? null : value)),
    'a string that is valid in a header',
    given,
  );

/** The form that {@link normalUrl} accepts, for messages. */
export const URL_FORM = 'a URL such as https://host/v1, without user and fragment';

/** Defines a URL such as `https://host/v1`, normalized by {@link normalUrl}. */
export const httpUrl = (given: Row) =>
  row(
    z
      .string()
      .refine((value) => normalUrl(value) !== undefined)
      .transform((value) => normalUrl(value) ?? value),
    URL_FORM,
    given,
  );

/** A query of plain names and values. Other characters would need escapes in a request line. */
const plainQuery = /^\?[\w.~%+:,/-]+=[\w.~%+:,/-]*(?:&[\w.~%+:,/-]+=[\w.~%+:,/-]*)*$/;

/**
 * Normalizes an upstream's URL: removes surrounding spaces, final slashes of the path, and an empty query.
 * @returns undefined: it is no URL with http or https, it has a user or a fragment, or its query needs escapes.
 */
export function normalUrl(text: string): string | undefined {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed)) return undefined;
  const { protocol, hostname, hash, search, username, password } = new URL(trimmed);
  if (!/^https?:$/.test(protocol) || hostname === '' || hash + username + password !== '') return undefined;
  if (search !== '' && !plainQuery.test(search)) return undefined;
  const [address = '', query] = trimmed.split('?');
  return withoutTrailingSlashes(address) + (query === undefined || query === '' ? '' : `?${query}`);
}

const trueOrFalse = z.preprocess(
  // LiteLLM also accepts strings, and environment variables are always strings.
  (value) => (typeof value === 'string' ? (booleanWord(value) ?? value) : value),
  z.boolean(),
);

/**
 * Parses a boolean as people write it in environment variables.
 * @returns undefined if it is not a boolean.
 */
export function booleanWord(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(word)) return true;
  return ['false', '0', 'no', 'off'].includes(word) ? false : undefined;
}

/** Defines a boolean, also as a string such as `yes`. */
export const boolean = (given: Row) => row(trueOrFalse, 'true or false', given);

/** Defines a number with limits. Accepts strings, because values from the environment are strings. */
const numeric = (min: number, max: number) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value),
    z.number().min(min).max(max),
  );

/** Defines a whole number with limits, also as a string. */
export const wholeNumbers = (min: number, max: number) => numeric(min, max).refine((value) => Number.isInteger(value));

/** Defines a setting that is a number with limits. */
export const number = (min: number, max: number, given: Row) =>
  row(numeric(min, max), `a number from ${min} to ${max}`, given);

/** Defines a setting that is a whole number with limits. */
export const wholeNumber = (min: number, max: number, given: Row) =>
  row(wholeNumbers(min, max), `a whole number from ${min} to ${max}`, given);

/**
 * Defines a time in seconds.
 * @param zero the meaning of 0.
 */
export const seconds = (given: Row, zero: 'no limit' | 'no wait' = 'no limit') =>
  row(numeric(0, MAX_TIMEOUT_SECONDS), `a number of seconds from 0 (${zero}) to ${MAX_TIMEOUT_SECONDS}`, given);

/** Defines a price, also as a string: YAML 1.1 reads `1e-6` as a string, because it requires a decimal point. */
export const price = (given: Row) =>
  row(
    z.preprocess(
      (value) => (typeof value === 'string' && value.trim() !== '' ? Number(value) : value),
      z.number().min(0),
    ),
    'a number from 0',
    given,
  );

/** Defines a time such as `30d`, in days, rounded up. A time below a day, such as `12h`, becomes one day. */
export const period = (given: Row) =>
  row(
    z
      .string()
      .regex(/^[1-9]\d{0,5}(?:s|m|h|d|w|mo|y)$/)
      .transform((value) => Math.ceil(Number.parseInt(value, 10) * (DAYS[value.replace(/\d+/, '')] ?? 0))),
    'a time such as 30d',
    given,
  );

const DAYS: Readonly<Record<string, number>> = { s: 1 / 86_400, m: 1 / 1440, h: 1 / 24, d: 1, w: 7, mo: 31, y: 366 };

/** Defines a string that must be one of some values. */
export const oneOf = <const T extends string>(values: readonly T[], given: Row) =>
  row(z.enum(values), `one of ${values.join(', ')}`, given);

/** Defines a list of strings that are not empty. */
export const texts = (given: Row) =>
  row(z.array(z.string().min(1)), 'a list of strings', given, 'a string that is not empty');

/**
 * Defines a list of paths as clients use them. The list must not be empty, because an empty list
 * would close all paths.
 */
export const routes = (given: Row) =>
  row(
    z.array(z.string().regex(routePattern)).min(1),
    'a list of paths that is not empty',
    given,
    'a path such as /v1/chat/completions or /vllm/*',
  );

/** Defines a list of one or more paths without wildcards. */
export const plainRoutes = (given: Row) =>
  row(
    z.array(z.string().regex(/^\/[^\s?#*]*$/)).min(1),
    'a list of paths that is not empty',
    given,
    'a path such as /metrics, without *',
  );

/** Defines a list of one or more addresses, and subnets in CIDR notation. */
export const addresses = (given: Row) =>
  row(
    z.array(z.string().refine((text) => readNetwork(text) !== null)).min(1),
    'a list of IP addresses that is not empty',
    given,
    'an IP address or a subnet such as 10.0.0.0/8',
  );

/** Defines a list of paths below `/v1/`, given with or without this prefix. The values have no prefix. */
export const paths = (given: Row) =>
  row(
    z.array(
      z
        .string()
        .refine((value) => parseForwardedPath(value) !== undefined)
        .transform((value) => parseForwardedPath(value) ?? value),
    ),
    'a list of paths',
    given,
    'a path such as fim/completions, without dots, escapes and query',
  );

/** Defines any mapping; its content is used unchanged. */
export const mapping = (given: Row) => row(z.record(z.string(), z.unknown()), 'a mapping', given);

/** Defines a mapping of names to strings; numbers and booleans become strings. */
export const textMapping = (given: Row) =>
  row(
    z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)),
    'a mapping of names to strings',
    given,
    'a string',
  );

/** Defines a mapping or a string; a mapping becomes JSON. */
export const jsonOrPath = (given: Row) =>
  row(
    z
      .union([z.string().min(1), z.record(z.string(), z.unknown())])
      .transform((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
    'a mapping, or a string that is not empty',
    given,
  );

/** Defines `ssl_verify`: a boolean, also as a string, or a path. */
export const verification = (given: Row) =>
  row(
    z.union([z.boolean(), z.string().min(1)]).transform((value) => {
      const word = typeof value === 'string' ? value.toLowerCase() : '';
      return word === 'true' ? true : word === 'false' ? false : value;
    }),
    'true, false, or the path of a CA bundle',
    given,
  );
