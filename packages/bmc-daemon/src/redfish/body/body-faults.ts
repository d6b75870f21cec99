/** Translates the faults that zod finds in a body into messages of the Base registry. */
import type { z } from 'zod';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import { limitFaults } from '../messages/errors.js';
import { withPointers, message, sentence, withDetail, type Message } from '../messages/messages.js';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** The resource or the action that receives a body. */
export type BodyTarget =
  /**
   * A PATCH, or a POST to a collection. `rendered` returns the resource as GET sends it; undefined for
   * a POST. A property of the resource that the schema does not accept is read-only.
   */
  | {
      readonly kind: 'resource';
      readonly rendered: () => JsonObject | undefined;
      /** @see PatchDefinition.readOnly */
      readonly readOnly?: ReadonlyMap<string, string> | undefined;
    }
  /** `ComputerSystem.Reset`, without the `#`. */
  | { readonly kind: 'action'; readonly action: string };

/**
 * Returns the faults of a body, each with a JSON pointer; {@link limitFaults} limits their number. A
 * refinement selects its message with `params: { message: message('…') }`. Without `params`, its text
 * becomes the detail of PropertyValueError or ActionParameterValueError. If the body has no value at
 * the path of the refinement, the message is PropertyMissing or ActionParameterMissing instead.
 */
export function bodyFaults(issues: readonly Issue[], body: JsonObject, target: BodyTarget): readonly Message[] {
  return limitFaults(describeAll(issues, [], body, renderedOnce(target)));
}

/** Renders the resource at most once, because this is the most expensive part of a fault. */
function renderedOnce(target: BodyTarget): BodyTarget {
  if (target.kind === 'action') return target;
  let once: { readonly rendered: JsonObject | undefined } | undefined;
  return { ...target, rendered: () => (once ??= { rendered: target.rendered() }).rendered };
}

/** Yields the messages lazily, so that messages beyond the limit cost nothing. */
function* describeAll(
  issues: readonly Issue[],
  prefix: Path,
  body: JsonObject,
  target: BodyTarget,
): Generator<Message, void, void> {
  for (const issue of issues) {
    const path = [...prefix, ...issue.path];
    const branch = issue.code === 'invalid_union' ? likeliestBranch(issue.errors) : undefined;
    // If a value has the wrong type, zod reports the type and also checks the length of the value.
    // The origin `unknown` marks this second issue, which tells the client nothing new.
    if ((issue.code === 'too_big' || issue.code === 'too_small') && issue.origin === 'unknown') continue;
    if (issue.code === 'unrecognized_keys') for (const key of issue.keys) yield unknownProperty([...path, key], target);
    else if (branch !== undefined) yield* describeAll(branch, path, body, target);
    else yield messageOf(issue, path, body, target);
  }
}

function messageOf(issue: Issue, path: Path, body: JsonObject, target: BodyTarget): Message {
  const value = valueAt(body, path);
  const fault = value === undefined ? missingProperty(path, target) : wrongValue(issue, path, value, target);
  const detail = acceptedValues(issue);
  return withPointers(
    detail === undefined ? fault : withDetail(fault, detail),
    // A message of a refinement may already have JSON pointers.
    ...(fault.related.length > 0 ? fault.related : [pointer(path)]),
  );
}

/**
 * Returns the issues of the first branch of a union that accepts the type of the value: the client
 * probably meant this branch. Returns undefined if no branch accepts the type.
 */
function likeliestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  return branches.find((issues) => issues.every(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'));
}

function unknownProperty(path: Path, target: BodyTarget): Message {
  const name = nameOf(path);
  if (target.kind === 'action')
    return withPointers(message('ActionParameterUnknown', target.action, name), pointer(path));
  const reason = target.readOnly?.get(name);
  const isUnknown = reason === undefined && valueAt(target.rendered(), path) === undefined;
  const key = isUnknown ? 'PropertyUnknown' : 'PropertyNotWritable';
  const fault = message(key, name);
  return withPointers(reason === undefined ? fault : withDetail(fault, reason), pointer(path));
}

function missingProperty(path: Path, target: BodyTarget): Message {
  const name = nameOf(path);
  return target.kind === 'action'
    ? message('ActionParameterMissing', target.action, name)
    : message('PropertyMissing', name);
}

type ValueFault = 'ValueTypeError' | 'ValueNotInList' | 'ValueFormatError' | 'ValueOutOfRange';

function wrongValue(issue: Issue, path: Path, value: Json, target: BodyTarget): Message {
  const name = nameOf(path);
  const quoted = quote(name, value);
  const fault = (kind: ValueFault): Message =>
    target.kind === 'action'
      ? message(`ActionParameter${kind}`, quoted, name, target.action)
      : message(`Property${kind}`, quoted, name);

  switch (issue.code) {
    case 'invalid_type':
    case 'invalid_union':
      return fault('ValueTypeError');
    case 'invalid_value':
      return fault(
        issue.values.some((allowed) => typeof allowed === typeof value) ? 'ValueNotInList' : 'ValueTypeError',
      );
    case 'invalid_format':
      return fault('ValueFormatError');
    case 'not_multiple_of':
      return fault('ValueOutOfRange');
    case 'too_big':
      return (
        wrongLength(issue.origin, ['StringValueTooLong', 'ArraySizeTooLong'], quoted, name, issue.maximum) ??
        fault('ValueOutOfRange')
      );
    case 'too_small':
      return (
        wrongLength(issue.origin, ['StringValueTooShort', 'ArraySizeTooShort'], quoted, name, issue.minimum) ??
        fault('ValueOutOfRange')
      );
    case 'custom':
      return refinementFault(issue, name, target);
    case 'invalid_key':
    case 'invalid_element':
    case 'unrecognized_keys':
      return valueError(name, target);
  }
}

/** Returns the message for the wrong length of a string or an array; undefined for any other value. */
function wrongLength(
  origin: string,
  [stringKey, arrayKey]: readonly [
    'StringValueTooLong' | 'StringValueTooShort',
    'ArraySizeTooLong' | 'ArraySizeTooShort',
  ],
  quoted: string,
  name: string,
  limit: number | bigint,
): Message | undefined {
  if (origin === 'string') return message(stringKey, quoted, Number(limit));
  return origin === 'array' ? message(arrayKey, name, Number(limit)) : undefined;
}

function refinementFault(issue: z.core.$ZodIssueCustom, name: string, target: BodyTarget): Message {
  const refinementMessage: unknown = issue.params?.['message'];
  if (isMessage(refinementMessage)) return refinementMessage;
  return withDetail(valueError(name, target), sentence(issue.message));
}

/** Returns whether a refinement's `params` contain a message: only `message()` makes objects with these keys. */
function isMessage(given: unknown): given is Message {
  return typeof given === 'object' && given !== null && 'key' in given && 'args' in given && 'related' in given;
}

function valueError(name: string, target: BodyTarget): Message {
  return target.kind === 'action'
    ? message('ActionParameterValueError', name, target.action)
    : message('PropertyValueError', name);
}

/** Lists the accepted values; undefined if the schema is not a list of values. */
function acceptedValues(issue: Issue): string | undefined {
  return issue.code === 'invalid_value' ? `Accepted: ${issue.values.map(String).join(', ')}.` : undefined;
}

/** Returns the property's name; for a member of an array, followed by its index. */
function nameOf(path: Path): string {
  const lastStep = path.at(-1);
  if (typeof lastStep === 'number') return `${nameOf(path.slice(0, -1))}/${lastStep}`;
  return String(lastStep ?? '');
}

function pointer(path: Path): string {
  return `#${path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')}`;
}

function valueAt(body: Json | undefined, path: Path): Json | undefined {
  let value = body;
  for (const part of path) {
    if (isArray(value) && typeof part === 'number') value = value[part];
    else if (isObject(value) && typeof part === 'string' && Object.hasOwn(value, part)) value = value[part];
    else return undefined;
  }
  return value;
}

const maxQuoteLength = 200;

/**
 * Returns the value for a message, cut at {@link maxQuoteLength}. Hides passwords, tokens and other
 * secrets, and the secrets in URLs. Returns a placeholder for an object or an array.
 */
function quote(name: string, value: Json): string {
  if (/password|token|secret/i.test(name)) return '******';
  if (isObject(value)) return '{…}';
  if (isArray(value)) return '[…]';
  const text = String(value);
  const safe = text.includes('://') ? maskUrl(text) : text;
  return safe.length > maxQuoteLength ? `${safe.slice(0, maxQuoteLength)}…` : safe;
}
