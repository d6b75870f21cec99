/** Changes a request by the configuration and by the client's parameters for the proxy. */
import { parseJson } from '@rackless/daemon/text/json.js';
import { invalidParameter, unsupportedParameters } from '../errors/model.js';
import { objectMembers } from '../json/navigate.js';
import type { JsonMember, JsonObject } from '../json/object.js';
import { containsText, partsWithout } from '../json/search.js';
import { memberEdits, membersText, spliceJson } from '../json/splice.js';
import { bytesBetween, valueOf } from '../json/text.js';
import { planOf, type RequestBodyOptions } from './deployment-plan.js';
import { DialectRequest } from './dialect.js';
import { dropPaths, parseDropPath, type DropPath } from './drop-paths.js';
import { checkedParameters, isConsumed, neverRejected, neverRejectedWhenOne } from './parameters.js';
import { asBoolean, asNames } from './proxy-parameters.js';
import type { RequestMembers } from './request-members.js';
import { decodeResponseId, PREVIOUS_RESPONSE } from './response-id.js';
import { withUsage } from './stream-usage.js';
import type { TranslatedCall } from './translation.js';

/** The members of a client's request, and their changes for one request to an upstream. */
export class OutgoingRequest implements RequestMembers {
  readonly #object: JsonObject;
  readonly #options: RequestBodyOptions;
  readonly #path: string;
  readonly #removed = new Set<JsonMember>();
  readonly #replaced = new Map<JsonMember, Buffer>();
  /** New members by name. */
  readonly #added = new Map<string, Buffer>();
  /** The request's parameters for the proxy. */
  readonly #consumed = new Map<string, JsonMember>();
  #dropParams: boolean;
  #allowed: ReadonlySet<string>;
  #dropPaths: readonly DropPath[];

  constructor(object: JsonObject, options: RequestBodyOptions) {
    const { deployment, endpoint } = options;
    this.#object = object;
    this.#options = options;
    this.#path = endpoint.path;
    this.#dropParams = deployment.dropParams;
    const plan = planOf(deployment);
    this.#allowed = plan.allowedParameters;
    this.#dropPaths = plan.dropPaths;
  }

  /**
   * Replaces `model` and the id of the previous response by the upstream's. Applies and removes the parameters for the
   * proxy. A client must not choose the upstream's address, key or headers.
   * @throws {ProxyError} 400: a parameter for the proxy is invalid or too long.
   */
  consume(): void {
    const { upstreamModel } = this.#options;
    let hasModel = false;
    for (const member of this.#object.members) {
      if (member.key === 'model') {
        hasModel = true;
        this.#replaced.set(member, Buffer.from(JSON.stringify(upstreamModel)));
      } else if (isConsumed(member.key, this.#path) && !this.#isAllowed(member.key)) {
        this.#removed.add(member);
        this.#consumed.set(member.key, member);
      }
    }
    // The client's path has the model: /engines/{model}/completions. The upstream needs it in the body.
    if (!hasModel) this.#added.set('model', Buffer.from(JSON.stringify(upstreamModel)));
    const previous = this.bytes(PREVIOUS_RESPONSE);
    const stored = previous === undefined ? undefined : decodeResponseId(parseJson(previous.toString()));
    if (stored !== undefined) this.#set(PREVIOUS_RESPONSE, Buffer.from(JSON.stringify(stored.upstreamId)));
    if (this.#consumed.size === 0) return;

    this.#dropParams = asBoolean(this.#parameter('drop_params')) ?? this.#dropParams;
    const allowed = asNames(this.#parameter('allowed_openai_params'), 'allowed_openai_params');
    if (allowed.length > 0) this.#allowed = new Set([...this.#allowed, ...allowed]);
    const additional = asNames(this.#parameter('additional_drop_params'), 'additional_drop_params');
    if (additional.length > MAX_DROP_PATHS) throw invalidParameter('additional_drop_params', 'is too long');
    if (additional.length > 0) this.#dropPaths = [...this.#dropPaths, ...additional.map(parseDropPath)];
  }

  /**
   * Returns whether the configuration allows to forward a parameter for the proxy, such as `metadata`. Parameters that
   * are for the proxy at all endpoints, such as `api_base`, are never allowed.
   */
  #isAllowed(name: string): boolean {
    return planOf(this.#options.deployment).allowedParameters.has(name) && !isConsumed(name, '');
  }

  #parameter(name: string): unknown {
    const member = this.#consumed.get(name);
    if (member === undefined) return undefined;
    // Parsing a megabyte of names would block other requests.
    if (member.valueEnd - member.valueStart > MAX_PARAMETER_BYTES) throw invalidParameter(name, 'is too long');
    return valueOf(this.#object, member);
  }

  /** Applies `additional_drop_params`, except for `model`. */
  applyDropPaths(): void {
    if (this.#dropPaths.length === 0) return;
    const nested = new Map<string, DropPath['steps'][]>();
    for (const { parameter, steps } of this.#dropPaths) {
      if (steps.length > 0) nested.set(parameter, [...(nested.get(parameter) ?? []), steps]);
      else if (parameter !== 'model') this.#remove(parameter);
    }
    for (const [parameter, paths] of nested) {
      const value = this.bytes(parameter);
      if (value === undefined) continue;
      const valueWithoutPaths = dropPaths(value, paths);
      if (valueWithoutPaths !== value) this.#set(parameter, valueWithoutPaths);
    }
  }

  /** Adds the deployment's defaults for parameters that are missing or null, except for dropped parameters. */
  addDefaults(): void {
    const { defaults } = planOf(this.#options.deployment);
    for (const [name, value] of defaults) {
      if (this.bytes(name) !== undefined || this.#isDropped(name)) continue;
      this.#set(name, value);
    }
  }

  #isDropped(name: string): boolean {
    return this.#dropPaths.some(({ parameter, steps }) => parameter === name && steps.length === 0);
  }

  /**
   * Removes the parameters that the provider does not support.
   * @throws {ProxyError} 400: such a parameter has a value, `drop_params` is off, and parameters.json
   *   does not list the parameter, or this value of it, as never rejected.
   */
  removeUnsupported(): void {
    const checked = checkedParameters(this.#path);
    if (checked.size === 0) return;
    const { deployment, upstreamModel } = this.#options;
    const supported = deployment.provider.supportedParameters(this.#path, upstreamModel);
    const isUnsupported = (name: string): boolean =>
      checked.has(name) && !supported.has(name) && !this.#allowed.has(name);

    const allSupported = this.#object.members.every(({ key }) => !isUnsupported(key));
    if (allSupported && this.#added.size === 0) return;
    const names = [...this.#object.members.map(({ key }) => key), ...this.#added.keys()];
    const unsupported = new Set(names.filter(isUnsupported));
    if (unsupported.size === 0) return;

    const rejected = [...unsupported].filter((name) => {
      const value = this.bytes(name);
      if (value === undefined || neverRejected.has(name)) return false;
      return !(neverRejectedWhenOne.has(name) && Number(value.toString('latin1', 0, 8)) === 1);
    });
    if (rejected.length > 0 && !this.#dropParams) {
      throw unsupportedParameters(rejected, deployment.provider.name, upstreamModel);
    }
    for (const name of unsupported) this.#remove(name);
  }

  /** Renames and rewrites the members that the provider expects in another form. */
  translate(): void {
    const { provider } = this.#options.deployment;
    for (const [name, spelling] of provider.renamedParameters ?? []) {
      const value = checkedParameters(this.#path).has(name) ? this.bytes(name) : undefined;
      if (value === undefined) continue;
      this.#remove(name);
      this.#set(spelling, value);
    }
    if (provider.translate === undefined) return;
    for (const [name, value] of provider.translate(this.#path, this)) {
      if (value === null) this.#remove(name);
      else this.#set(name, value);
    }
  }

  /** Merges `extra_body` into the request. @throws {ProxyError} 400: the client's `extra_body` has too many members. */
  mergeExtraBody(): void {
    for (const [name, value] of this.#extraMembers()) this.#set(name, value);
  }

  /** Returns the members of the client's `extra_body`, then of the deployment's, which has priority. */
  #extraMembers(): readonly (readonly [string, Buffer])[] {
    const { extraBody } = planOf(this.#options.deployment);
    const { modelParameters = [] } = this.#options.deployment.provider;
    const member = this.#consumed.get('extra_body');
    const extra = member === undefined ? noBytes : this.#received(member);
    const members = extra[0] === OPEN_BRACE ? objectMembers(extra, 0, extra.length) : [];
    if (members === undefined || members.length > MAX_EXTRA_MEMBERS) {
      throw invalidParameter('extra_body', 'has too many members');
    }
    const extraMembers: [string, Buffer][] = [];
    for (const { key, valueStart, valueEnd } of members) {
      // A client must not use `extra_body` to change the model or `stream` after their checks.
      if (['model', 'stream', ...modelParameters].includes(key) || isConsumed(key, this.#path)) continue;
      extraMembers.push([key, extra.subarray(valueStart, valueEnd)]);
    }
    return [...extraMembers, ...extraBody];
  }

  /** Adds `include_usage` to a stream of chat or completions if an option requires it and the provider supports it. */
  includeStreamUsage(): void {
    const { alwaysIncludeStreamUsage, countsUsage = false } = this.#options;
    if (
      !(alwaysIncludeStreamUsage || countsUsage) ||
      (this.#path !== 'chat/completions' && this.#path !== 'completions')
    )
      return;
    if (this.bytes('stream')?.toString('latin1') !== 'true') return;
    // Some providers send the usage by default, and reject `stream_options`.
    const { deployment, upstreamModel } = this.#options;
    if (!deployment.provider.supportedParameters(this.#path, upstreamModel).has('stream_options')) return;
    const options = withUsage(this.bytes('stream_options') ?? emptyObject, countsUsage);
    if (options !== undefined) this.#set('stream_options', options);
  }

  /** Returns the body with all changes. */
  finish(): Buffer[] {
    const edits = memberEdits(this.#object, {
      removed: this.#removed,
      replaced: this.#replaced,
      added: [...this.#added],
    });
    return spliceJson(this.#object, edits);
  }

  /** Returns the dialect's request. Adds `extra_body` to JSON. @throws {ProxyError} 400: the request is impossible. */
  finishAs({ endpoint, call }: TranslatedCall): Buffer[] | DialectRequest {
    const request = endpoint.request(this, call);
    if (request instanceof DialectRequest) return request;
    const members = new Map(request);
    for (const [name, value] of this.#extraMembers()) members.set(name, value);
    return membersText(members);
  }

  get names(): readonly string[] {
    const remaining = this.#object.members.filter((member) => !this.#removed.has(member)).map(({ key }) => key);
    return [...remaining, ...this.#added.keys()];
  }

  bytes(name: string): Buffer | undefined {
    const addedValue = this.#added.get(name);
    if (addedValue !== undefined) return isNull(addedValue) ? undefined : addedValue;
    const member = this.#member(name);
    if (member === undefined) return undefined;
    const value = this.#replaced.get(member) ?? this.#received(member);
    return isNull(value) ? undefined : value;
  }

  mayHold(name: string, keys: readonly string[]): boolean {
    const member = this.#member(name);
    // `innerKeys` contains only names in the members that the client sent, so a changed value may contain others.
    if (this.#added.has(name) || (member !== undefined && this.#replaced.has(member))) return true;
    const { innerKeys } = this.#object;
    return member !== undefined && keys.some((key) => innerKeys.mayHave(key));
  }

  contains(name: string, texts: readonly Buffer[], accepts?: (following: string) => boolean): boolean {
    const member = this.#member(name);
    const value = this.#added.get(name) ?? (member && this.#replaced.get(member));
    if (value !== undefined) return containsText([value], { start: 0, end: value.length }, texts, accepts);
    if (member === undefined) return false;
    const { chunks, longTexts } = this.#object;
    const parts = partsWithout(longTexts, { start: member.valueStart, end: member.valueEnd });
    return parts.some((part) => containsText(chunks, part, texts, accepts));
  }

  /** Returns the last member of that name that goes upstream. */
  #member(name: string): JsonMember | undefined {
    return this.#object.members.findLast((member) => member.key === name && !this.#removed.has(member));
  }

  #received({ valueStart, valueEnd }: JsonMember): Buffer {
    return bytesBetween(this.#object.chunks, this.#object.length, valueStart, valueEnd);
  }

  #remove(name: string): void {
    this.#added.delete(name);
    for (const member of this.#object.members) if (member.key === name) this.#removed.add(member);
  }

  /**
   * Sets a member: replaces the last member with that name and removes all other members with it, or adds the member at
   * the end.
   */
  #set(name: string, value: Buffer): void {
    const member = this.#member(name);
    if (member === undefined) {
      this.#added.set(name, value);
      return;
    }
    for (const other of this.#object.members) if (other.key === name && other !== member) this.#removed.add(other);
    this.#replaced.set(member, value);
  }
}

const noBytes = Buffer.alloc(0);
const OPEN_BRACE = 0x7b;
const LETTER_N = 0x6e;
const emptyObject = Buffer.from('{}');

// Limits for parameters for the proxy, because a single client must not block all other clients.
const MAX_PARAMETER_BYTES = 16_384;
const MAX_DROP_PATHS = 64;
const MAX_EXTRA_MEMBERS = 1_000;

/** A JSON value of four bytes that begins with `n` is `null`. */
const isNull = (value: Buffer): boolean => value.length === 4 && value[0] === LETTER_N;
