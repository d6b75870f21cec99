/** What is wrong with a body, in Redfish's words: every fault that zod finds becomes one message of the Base registry. */
import type { z } from 'zod';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import { atMost } from './errors.js';
import { isArray, isObject, type Json, type JsonObject } from './json.js';
import { about, message, withDetail, type Message } from './messages.js';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Whose body it is. */
export type BodyOwner =
  /** A PATCH or a POST on a collection. `shown` is the resource as GET sends it: what it shows and does not take is read-only. */
  | {
      readonly kind: 'resource';
      readonly shown: () => JsonObject | undefined;
      /** @see PatchDefinition.readOnly */
      readonly readOnly?: ReadonlyMap<string, string> | undefined;
    }
  /** `ComputerSystem.Reset`, without the `#`. */
  | { readonly kind: 'action'; readonly action: string };

/**
 * All faults of a body, each with the JSON pointer of its place. A refinement says what it wants with
 * `params: { message: message('…') }`; without, its own text becomes the detail of PropertyValueError.
 */
export function bodyFaults(issues: readonly Issue[], body: JsonObject, owner: BodyOwner): readonly Message[] {
  return atMost(describeAll(issues, [], body, renderedOnce(owner)));
}

/** Rendering a resource is the most expensive part of a fault. */
function renderedOnce(owner: BodyOwner): BodyOwner {
  if (owner.kind === 'action') return owner;
  let rendered: { readonly shown: JsonObject | undefined } | undefined;
  return { ...owner, shown: () => (rendered ??= { shown: owner.shown() }).shown };
}

/** One after the other, so that those which are not listed cost nothing. */
function* describeAll(
  issues: readonly Issue[],
  prefix: Path,
  body: JsonObject,
  owner: BodyOwner,
): Generator<Message, void, void> {
  for (const issue of issues) {
    const path = [...prefix, ...issue.path];
    const branch = issue.code === 'invalid_union' ? likeliestBranch(issue.errors) : undefined;
    // zod measures everything that has a length, an object of the wrong type as well: its type is the fault.
    if ((issue.code === 'too_big' || issue.code === 'too_small') && issue.origin === 'unknown') continue;
    if (issue.code === 'unrecognized_keys') for (const key of issue.keys) yield unknown([...path, key], owner);
    else if (branch !== undefined) yield* describeAll(branch, path, body, owner);
    else yield describe(issue, path, body, owner);
  }
}

function describe(issue: Issue, path: Path, body: JsonObject, owner: BodyOwner): Message {
  const value = valueAt(body, path);
  const fault = value === undefined ? missing(path, owner) : wrong(issue, path, value, owner);
  const detail = acceptable(issue);
  return about(
    detail === undefined ? fault : withDetail(fault, detail),
    ...(fault.related.length > 0 ? fault.related : [pointer(path)]),
  );
}

/** Of a union's branches, the one that got furthest into the value: the client meant that one. */
function likeliestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  return branches.find((issues) => issues.every(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'));
}

function unknown(path: Path, owner: BodyOwner): Message {
  const name = nameOf(path);
  if (owner.kind === 'action') return about(message('ActionParameterUnknown', owner.action, name), pointer(path));
  const key = valueAt(owner.shown(), path) === undefined ? 'PropertyUnknown' : 'PropertyNotWritable';
  const why = key === 'PropertyNotWritable' ? owner.readOnly?.get(name) : undefined;
  const fault = message(key, name);
  return about(why === undefined ? fault : withDetail(fault, why), pointer(path));
}

function missing(path: Path, owner: BodyOwner): Message {
  const name = nameOf(path);
  return owner.kind === 'action'
    ? message('ActionParameterMissing', owner.action, name)
    : message('PropertyMissing', name);
}

type ValueFault = 'ValueTypeError' | 'ValueNotInList' | 'ValueFormatError' | 'ValueOutOfRange';

function wrong(issue: Issue, path: Path, value: Json, owner: BodyOwner): Message {
  const name = nameOf(path);
  const shown = quote(name, value);
  const fault = (kind: ValueFault): Message =>
    owner.kind === 'action'
      ? message(`ActionParameter${kind}`, shown, name, owner.action)
      : message(`Property${kind}`, shown, name);

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
        size(issue.origin, ['StringValueTooLong', 'ArraySizeTooLong'], shown, name, issue.maximum) ??
        fault('ValueOutOfRange')
      );
    case 'too_small':
      return (
        size(issue.origin, ['StringValueTooShort', 'ArraySizeTooShort'], shown, name, issue.minimum) ??
        fault('ValueOutOfRange')
      );
    case 'custom':
      return custom(issue, name, owner);
    case 'invalid_key':
    case 'invalid_element':
    case 'unrecognized_keys':
      return valueError(name, owner);
  }
}

/** Strings and arrays have messages of their own for their length. */
function size(
  origin: string,
  [ofString, ofArray]: readonly [
    'StringValueTooLong' | 'StringValueTooShort',
    'ArraySizeTooLong' | 'ArraySizeTooShort',
  ],
  shown: string,
  name: string,
  limit: number | bigint,
): Message | undefined {
  if (origin === 'string') return message(ofString, shown, Number(limit));
  return origin === 'array' ? message(ofArray, name, Number(limit)) : undefined;
}

function custom(issue: z.core.$ZodIssueCustom, name: string, owner: BodyOwner): Message {
  const given: unknown = issue.params?.['message'];
  if (isMessage(given)) return given;
  return withDetail(valueError(name, owner), `${issue.message}.`);
}

/** `params` is open to anything; what has a key of the table is a message, as only `message()` makes them. */
function isMessage(given: unknown): given is Message {
  return typeof given === 'object' && given !== null && 'key' in given && 'args' in given && 'related' in given;
}

function valueError(name: string, owner: BodyOwner): Message {
  return owner.kind === 'action'
    ? message('ActionParameterValueError', name, owner.action)
    : message('PropertyValueError', name);
}

/** The values that would do, where they can be listed. */
function acceptable(issue: Issue): string | undefined {
  return issue.code === 'invalid_value' ? `Accepted: ${issue.values.map(String).join(', ')}.` : undefined;
}

/** The property's own name, with the index behind it for a member of an array. */
function nameOf(path: Path): string {
  const last = path.at(-1);
  if (typeof last === 'number') return `${nameOf(path.slice(0, -1))}/${last}`;
  return String(last ?? '');
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

const longestQuote = 200;

/** The value as a message may show it: passwords not at all, URLs without their secrets. */
function quote(name: string, value: Json): string {
  if (/password|token|secret/i.test(name)) return '******';
  if (isObject(value)) return '{…}';
  if (isArray(value)) return '[…]';
  const text = String(value);
  const safe = text.includes('://') ? maskUrl(text) : text;
  return safe.length > longestQuote ? `${safe.slice(0, longestQuote)}…` : safe;
}
