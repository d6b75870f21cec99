/** Words of Python that are no literals, and what to say about them. */

/** Ends the message about anything that is no literal. */
export const ONLY_LITERALS =
  'only literal values are read (strings, numbers, None, True, False, lists, tuples, mappings); the file is never executed';

/** Ends the message about a call or a name that code would have to be run for. */
export const NOT_RUN = 'which is not run';

/** Spelled as in other languages: the mistake is so common that it gets its own sentence. */
export const MEANT: ReadonlyMap<string, string> = new Map(
  Object.entries({
    true: 'True',
    TRUE: 'True',
    yes: 'True',
    on: 'True',
    false: 'False',
    FALSE: 'False',
    no: 'False',
    off: 'False',
    none: 'None',
    NONE: 'None',
    null: 'None',
    nil: 'None',
  }),
);

/** Words that begin a statement or an operator. */
export const KEYWORDS = new Set(
  'import from def class if elif else for while with try return lambda del global assert raise pass async await print exec'.split(
    ' ',
  ),
);
