/**
 * Masks secrets in log fields: passwords and tokens by their names, user info and queries of URLs.
 */
import { maskUrl } from '../text/mask-url.js';

/**
 * Values that a log line contains next to its message. The error that caused the line has the name
 * `error`.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Names of secrets: `Password`, `X-Auth-Token`, `api_key`. `max_tokens` is a number and not a
 * secret.
 */
const secretName = /pass(word|wd|phrase)|token(?!s)|secret|authorization|cookie|credential|api[-_]?key/i;

/** Options of {@link redact}. */
interface RedactOptions {
  /** Adds the top of the stack trace to an error. */
  readonly stacks: boolean;
}

/**
 * Returns a copy of the fields for the log: values with the name of a secret become `******`, URLs
 * lose their secrets, and errors become texts. Does not find a secret or a URL inside a longer text
 * or in the message of an error. Objects that are nested more than five levels deep become `[nested]`.
 */
export function redact(fields: LogFields, options: RedactOptions): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, redactValue(name, value, 0, options)]),
  );
}

function redactValue(name: string, value: unknown, depth: number, options: RedactOptions): unknown {
  if (secretName.test(name)) return '******';
  if (typeof value === 'string') return /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? maskUrl(value) : value;
  if (value instanceof URL) return maskUrl(value);
  if (value instanceof Error) return describeError(value, options);
  if (typeof value !== 'object' || value === null) return value;
  // Bodies and driver errors have fewer levels. The limit ends the recursion in a cyclic object.
  if (depth > 4) return '[nested]';
  if (Array.isArray(value)) return value.map((item) => redactValue('', item, depth + 1, options));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, redactValue(key, item, depth + 1, options)]),
  );
}

/**
 * Returns the messages of the error and of its causes, outermost first, each text once. With `stacks`, adds the
 * top of the innermost error's stack trace.
 */
function describeError(error: Error, { stacks }: RedactOptions): string {
  const messages: string[] = [];
  let innermost = error;
  let depth = 0;
  for (let current: unknown = error; current instanceof Error && depth < 8; current = current.cause) {
    // Many errors end with the text of their cause.
    if (messages.at(-1)?.endsWith(current.message) !== true) messages.push(current.message);
    innermost = current;
    depth += 1;
  }
  if (!stacks) return messages.join(': ');
  const stack =
    innermost.stack
      ?.split('\n')
      .filter((line) => line.startsWith('    at '))
      .slice(0, 4) ?? [];
  return `${messages.join(': ')}${stack.length > 0 ? ` [${stack.map((line) => line.trim()).join('; ')}]` : ''}`;
}
