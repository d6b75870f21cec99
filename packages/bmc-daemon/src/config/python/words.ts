/** Words of Python that are not values, and the messages about them. */

/** End of the message about text that is not a literal. */
export const ONLY_LITERALS =
  'only literal values are read (strings, numbers, None, True, False, lists, tuples, mappings); the file is ' +
  'never executed';

/** End of the message about a call or a name that would need code. */
export const NOT_RUN = 'which is not run';

/** Python's constants by their spelling in other languages, which is a common mistake. */
export const PYTHON_SPELLINGS: ReadonlyMap<string, string> = new Map(
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
  (
    'import from def class if elif else for while with try return lambda del global assert raise pass ' +
    'async await print exec'
  ).split(' '),
);
