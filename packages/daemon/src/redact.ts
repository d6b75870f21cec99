/** What must never be in a log line: passwords and tokens by their names, user info and queries of URLs. */
import { maskUrl } from './mask-url.js';

/** What a line carries beside its message: plain values, or the error that caused it under `error`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Names whose values are nobody's business: `Password`, `X-Auth-Token`, `Authorization`, `api_key`; not `max_tokens`, which are counted. */
const secretName = /pass(word|wd|phrase)|token(?!s)|secret|authorization|cookie|credential|api[-_]?key/i;

export interface RedactOptions {
  /** An error has the place where it broke behind its messages. */
  readonly stacks: boolean;
}

/** The same fields fit for a log: secrets as `******`, an error as its messages. */
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
  // Bodies and driver errors nest a few levels; whatever is deeper is not worth a line.
  if (typeof value !== 'object' || value === null || depth > 4) return value;
  if (Array.isArray(value)) return value.map((item) => redactValue('', item, depth + 1, options));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, redactValue(key, item, depth + 1, options)]),
  );
}

/** The error's message and those of its causes, outermost first; with `stacks` the stack of the innermost, where it broke. */
function describeError(error: Error, { stacks }: RedactOptions): string {
  const messages: string[] = [];
  let innermost = error;
  for (let current: unknown = error; current instanceof Error && messages.length < 8; current = current.cause) {
    messages.push(current.message);
    innermost = current;
  }
  if (!stacks) return messages.join(': ');
  const stack =
    innermost.stack
      ?.split('\n')
      .filter((line) => line.startsWith('    at '))
      .slice(0, 4) ?? [];
  return `${messages.join(': ')}${stack.length > 0 ? ` [${stack.map((line) => line.trim()).join('; ')}]` : ''}`;
}
