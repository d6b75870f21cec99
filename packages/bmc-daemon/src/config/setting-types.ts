/** What a row of the table of settings says, and the kinds of rows that there are. */
import { z } from 'zod';

/** One row of the table. */
export interface SettingDefinition<T> {
  /** As in the file and in the environment. */
  readonly name: `EMULATOR_${string}`;
  /** Of the plain value (see `toPlain`). */
  readonly type: z.ZodType<T>;
  /** What the value has to be: stands behind "must be". For a part of a mapping, what that part has to be. */
  readonly expected: string;
  readonly expectedPart?: string;
  readonly default: T;
  /** `text`: a flag's or environment variable's text is the value itself; `literal`: it is read as a Python literal. */
  readonly form: 'text' | 'literal';
  /** Strings in the value are paths: relative to the file that gives them, or to the working directory. */
  readonly path?: true;
  /** Keys of a mapping. The file may spell them with other capitals; that is a warning. */
  readonly keys?: readonly string[];
  /** As on the command line: `--port`. */
  readonly flag?: string;
  /** For the documentation: which table it stands in. */
  readonly group: 'spec' | 'listen' | 'backend' | 'inventory' | 'media' | 'log';
  /** A short sentence for the table of settings. `setting-details.ts` has the rest. */
  readonly doc: string;
}

type Row<T> = Omit<SettingDefinition<T>, 'type' | 'expected' | 'form' | 'path' | 'expectedPart'>;

/** A row whose default may be None. */
type OptionalRow = Row<string | null>;

/** Any string, an empty one too. */
export const text = (row: Row<string>): SettingDefinition<string> => ({
  ...row,
  type: z.string(),
  expected: 'a string',
  form: 'text',
});

/** A string that says something. */
export const requiredText = (row: Row<string>): SettingDefinition<string> => ({
  ...row,
  type: z.string().min(1),
  expected: 'a string that is not empty',
  form: 'text',
});

/** An empty string says "none", as sushy-tools takes it. */
export const optionalText = (row: OptionalRow): SettingDefinition<string | null> => ({
  ...row,
  type: z
    .string()
    .nullable()
    .transform((value) => (value === '' ? null : value)),
  expected: 'a string or None',
  form: 'text',
});

/** A path or None; an empty string is None. */
export const optionalPath = (row: OptionalRow): SettingDefinition<string | null> => ({
  ...optionalText(row),
  expected: 'a path (a string) or None',
  path: true,
});

/** True or False, and nothing that Python would take for it. */
export const boolean = (row: Row<boolean>): SettingDefinition<boolean> => ({
  ...row,
  type: z.boolean(),
  expected: 'True or False',
  form: 'literal',
});

/** sushy-tools takes a port in quotes, as shell scripts write it. */
const unquoted = (value: unknown): unknown =>
  typeof value === 'string' && /^[0-9]{1,9}$/.test(value) ? Number(value) : value;

/** A whole number within bounds, both included. */
export const integer = (least: number, most: number, row: Row<number>): SettingDefinition<number> => ({
  ...row,
  type: z.preprocess(unquoted, z.int().min(least).max(most)),
  expected: `an integer from ${least} to ${most}`,
  form: 'literal',
});

/** A number within bounds, both included. */
export const number = (least: number, most: number, row: Row<number>): SettingDefinition<number> => ({
  ...row,
  type: z.number().min(least).max(most),
  expected: `a number from ${least} to ${most}`,
  form: 'literal',
});

/** One of a few words. */
export const oneOf = <const T extends string>(values: readonly T[], row: Row<T>): SettingDefinition<T> => ({
  ...row,
  type: z.enum(values),
  expected: `one of ${values.map((value) => `'${value}'`).join(', ')}`,
  form: 'text',
});
