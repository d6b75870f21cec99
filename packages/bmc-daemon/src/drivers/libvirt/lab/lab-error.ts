/** Problems that stop a command, usually before it creates or deletes a complete machine. */
export class LabError extends Error {
  override readonly name = 'LabError';

  /** @param problems one line each, without a period at the end. */
  constructor(
    readonly problems: readonly string[],
    options: { readonly cause?: unknown } = {},
  ) {
    super(problems.join('; '), options);
  }
}

/** Returns the message of an error; for another thrown value, this value as text. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Returns the problem that the host lacks an object, with the names of the others. @param kind such as `network`. */
export const missingOnHost = (kind: string, name: string, others: readonly string[]): string =>
  `the host has no ${kind} ${name}; ${others.length === 0 ? 'create it first' : `it has ${others.join(', ')}`}`;
