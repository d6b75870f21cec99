/** The rows of the table of settings, and their types. */
import { z } from 'zod';

/** Type of a text that becomes one segment of a path: not empty, without `/`, `?` and `#`. */
export const pathSegment = z.string().regex(/^[^/?#]+$/);

/** One row of the table. */
export interface SettingDefinition<T> {
  /** Name in the file and in the environment. */
  readonly name: `EMULATOR_${string}`;
  /** Type of the plain value (see `toPlain` in python/values.ts). */
  readonly type: z.ZodType<T>;
  /** Description of a valid value, for messages after "must be". */
  readonly expected: string;
  /** Description of a valid member of a list or a mapping. Default: `expected`. */
  readonly expectedPart?: string;
  readonly default: T;
  /**
   * `text`: the text of a flag or an environment variable is the value; `literal`: the text is a Python literal,
   * or for a boolean a word such as `yes`; `mixed`: the text is the value, and a list or a mapping is a literal.
   */
  readonly form: 'text' | 'literal' | 'mixed';
  /**
   * Strings in the value are paths. A relative path starts at the folder of the configuration file; in a flag
   * or an environment variable, at the working directory.
   */
  readonly path?: true;
  /** Keys of a mapping. If the file has another case of letters, the daemon corrects it and warns. */
  readonly keys?: readonly string[];
  /** Flag of the command line, such as `--port`. */
  readonly flag?: string;
  /** A short sentence for the table of settings. `setting-details.ts` has the rest. */
  readonly doc: string;
}

type Row<T> = Omit<SettingDefinition<T>, 'type' | 'expected' | 'form' | 'path' | 'expectedPart'>;

/** A row whose default may be None. */
type OptionalRow = Row<string | null>;

/** Returns a row for any string, also an empty one. */
export const text = (row: Row<string>): SettingDefinition<string> => ({
  ...row,
  type: z.string(),
  expected: 'a string',
  form: 'text',
});

/** Returns a row for a string or None. An empty string means None, as in sushy-tools. */
export const optionalText = (row: OptionalRow): SettingDefinition<string | null> => ({
  ...row,
  type: z
    .string()
    .nullable()
    .transform((value) => (value === '' ? null : value)),
  expected: 'a string or None',
  form: 'text',
});

/** Returns a row for a path or None. An empty string means None. */
export const optionalPath = (row: OptionalRow): SettingDefinition<string | null> => ({
  ...optionalText(row),
  expected: 'a path (a string) or None',
  path: true,
});

/** Returns a row for True or False. It rejects other values, also those that Python converts. */
export const boolean = (row: Row<boolean>): SettingDefinition<boolean> => ({
  ...row,
  type: z.boolean(),
  expected: 'True or False',
  form: 'literal',
});

/** Converts an integer in quotes: shell scripts write such texts, and sushy-tools accepts them. */
const unquoted = (value: unknown): unknown =>
  typeof value === 'string' && /^[0-9]{1,9}$/.test(value) ? Number(value) : value;

/** Returns a row for an integer within inclusive bounds. */
export const integer = (min: number, max: number, row: Row<number>): SettingDefinition<number> => ({
  ...row,
  type: z.preprocess(unquoted, z.int().min(min).max(max)),
  expected: `an integer from ${min} to ${max}`,
  form: 'literal',
});

/** Returns a row for a number within inclusive bounds. */
export const number = (min: number, max: number, row: Row<number>): SettingDefinition<number> => ({
  ...row,
  type: z.number().min(min).max(max),
  expected: `a number from ${min} to ${max}`,
  form: 'literal',
});

/** Returns a row for one of several words. */
export const oneOf = <const T extends string>(values: readonly T[], row: Row<T>): SettingDefinition<T> => ({
  ...row,
  type: z.enum(values),
  expected: `one of ${values.map((value) => `'${value}'`).join(', ')}`,
  form: 'text',
});
