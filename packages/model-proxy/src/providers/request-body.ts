/**
 * A request's body as its upstream gets it: another `model`, parameters left out, added and spelled otherwise, and every other byte as
 * the client sent it. Only members that are changed are read at all.
 *
 * What is done follows LiteLLM (`get_optional_params`), in this order: members that speak to the proxy leave; `additional_drop_params`;
 * defaults of the deployment; OpenAI's parameters that the dialect does not understand leave or are refused; the dialect's own
 * spelling; `extra_body`, which wins over everything.
 */
import { invalidParameter, unsupportedParameters } from '../errors.js';
import { objectMembers } from '../json/navigate.js';
import type { JsonMember, JsonObject } from '../json/object.js';
import { containsText, partsWithout } from '../json/search.js';
import { memberEdits, spliceChunks, spliceJson } from '../json/splice.js';
import { bytesBetween, valueOf } from '../json/text.js';
import type { Deployment } from './deployment.js';
import { planOf } from './deployment-plan.js';
import { dropPaths, parseDropPath, type DropPath } from './drop-paths.js';
import { checkedParameters, isConsumed, neverRefused, neverRefusedWhenOne } from './parameters.js';
import type { RequestMembers } from './provider.js';
import { renamedBody } from './renamed-body.js';

export interface RequestBodyOptions {
  readonly endpoint: { readonly path: string };
  readonly deployment: Deployment;
  /** The upstream's name for the model, without the provider's prefix. */
  readonly upstreamModel: string;
  /** Adds `stream_options.include_usage` to streamed requests. */
  readonly alwaysIncludeStreamUsage: boolean;
}

/**
 * Makes the upstream's body.
 * @param object the request, verified. Of two members with one name both are treated alike; the caller has refused two `model`s.
 * @returns views of what was received, and what came between.
 * @throws {ProxyError} 400 where a parameter is not supported and not to be dropped, or one that speaks to the proxy makes no sense.
 */
export function prepareRequestBody(object: JsonObject, options: RequestBodyOptions): Buffer[] {
  const renamed = renamedBody(object, options);
  if (renamed !== undefined) return renamed;
  const request = new OutgoingRequest(object, options);
  request.consume();
  request.dropAdditional();
  request.addDefaults();
  request.check();
  request.translate();
  request.mergeExtraBody();
  request.includeStreamUsage();
  return request.finish();
}

/** Members of the request, and what shall become of them; only lives as long as one call. */
class OutgoingRequest implements RequestMembers {
  readonly #object: JsonObject;
  readonly #options: RequestBodyOptions;
  readonly #path: string;
  readonly #removed = new Set<JsonMember>();
  readonly #replaced = new Map<JsonMember, Buffer>();
  /** Members that come in; each name once. */
  readonly #added = new Map<string, Buffer>();
  /** What the request says to the proxy. */
  readonly #consumed = new Map<string, JsonMember>();
  #dropParams: boolean;
  #allowed: ReadonlySet<string>;
  #additional: readonly DropPath[];

  constructor(object: JsonObject, options: RequestBodyOptions) {
    const { deployment, endpoint } = options;
    this.#object = object;
    this.#options = options;
    this.#path = endpoint.path;
    this.#dropParams = deployment.dropParams;
    const plan = planOf(deployment);
    this.#allowed = plan.allowed;
    this.#additional = plan.additional;
  }

  /** `model`, and what never goes upstream: a client must not choose the address, the key or the headers of what is sent there. */
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
    // The path named it: /engines/{model}/completions.
    if (!hasModel) this.#added.set('model', Buffer.from(JSON.stringify(upstreamModel)));
    if (this.#consumed.size === 0) return;

    this.#dropParams = asSwitch(this.#spoken('drop_params')) ?? this.#dropParams;
    const allowed = asNames(this.#spoken('allowed_openai_params'), 'allowed_openai_params');
    if (allowed.length > 0) this.#allowed = new Set([...this.#allowed, ...allowed]);
    const additional = asNames(this.#spoken('additional_drop_params'), 'additional_drop_params');
    if (additional.length > MAXIMUM_DROP_PATHS) throw invalidParameter('additional_drop_params', 'is too long');
    if (additional.length > 0) this.#additional = [...this.#additional, ...additional.map(parseDropPath)];
  }

  /** Of a consumed member that the configuration allows, such as `metadata`. Those that are dangerous nothing allows. */
  #isAllowed(name: string): boolean {
    return planOf(this.#options.deployment).allowed.has(name) && !isConsumed(name, '');
  }

  #spoken(name: string): unknown {
    const member = this.#consumed.get(name);
    if (member === undefined) return undefined;
    // These are parsed: a megabyte of names would hold everybody up.
    if (member.valueEnd - member.valueStart > MAXIMUM_SPOKEN_BYTES) throw invalidParameter(name, 'is too long');
    return valueOf(this.#object, member);
  }

  dropAdditional(): void {
    if (this.#additional.length === 0) return;
    const nested = new Map<string, DropPath['steps'][]>();
    for (const { parameter, steps } of this.#additional) {
      if (steps.length > 0) nested.set(parameter, [...(nested.get(parameter) ?? []), steps]);
      else if (parameter !== 'model') this.#remove(parameter);
    }
    for (const [parameter, paths] of nested) {
      const value = this.bytes(parameter);
      if (value === undefined) continue;
      const rest = dropPaths(value, paths);
      if (rest !== value) this.#set(parameter, rest);
    }
  }

  addDefaults(): void {
    const { defaults } = planOf(this.#options.deployment);
    for (const [name, value] of defaults) {
      if (this.bytes(name) !== undefined || this.#isDropped(name)) continue;
      this.#set(name, value);
    }
  }

  #isDropped(name: string): boolean {
    return this.#additional.some(({ parameter, steps }) => parameter === name && steps.length === 0);
  }

  check(): void {
    const checked = checkedParameters(this.#path);
    if (checked.size === 0) return;
    const { deployment, upstreamModel } = this.#options;
    const supported = deployment.provider.supportedParameters(this.#path, upstreamModel);
    const isUnsupported = (name: string): boolean =>
      checked.has(name) && !supported.has(name) && !this.#allowed.has(name);

    const isFine = this.#object.members.every(({ key }) => !isUnsupported(key));
    if (isFine && this.#added.size === 0) return;
    const names = [...this.#object.members.map(({ key }) => key), ...this.#added.keys()];
    const unsupported = new Set(names.filter(isUnsupported));
    if (unsupported.size === 0) return;

    const refused = [...unsupported].filter((name) => {
      const value = this.bytes(name);
      if (value === undefined || neverRefused.has(name)) return false;
      return !(neverRefusedWhenOne.has(name) && Number(value.toString('latin1', 0, 8)) === 1);
    });
    if (refused.length > 0 && !this.#dropParams) {
      throw unsupportedParameters(refused, deployment.provider.name, upstreamModel);
    }
    for (const name of unsupported) this.#remove(name);
  }

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

  /** The client's first, then the deployment's: what is configured wins. */
  mergeExtraBody(): void {
    const member = this.#consumed.get('extra_body');
    const extra = member === undefined ? noBytes : this.#received(member);
    const members = extra[0] === 0x7b ? objectMembers(extra, 0, extra.length) : [];
    if (members === undefined || members.length > MAXIMUM_EXTRA_MEMBERS) {
      throw invalidParameter('extra_body', 'has too many members');
    }
    for (const { key, valueStart, valueEnd } of members) {
      // The way round by which a client could ask for another model, or for events where an answer was prepared for.
      if (key === 'model' || key === 'stream' || isConsumed(key, this.#path)) continue;
      this.#set(key, extra.subarray(valueStart, valueEnd));
    }
    for (const [name, value] of planOf(this.#options.deployment).extraBody) this.#set(name, value);
  }

  includeStreamUsage(): void {
    const { alwaysIncludeStreamUsage } = this.#options;
    if (!alwaysIncludeStreamUsage || (this.#path !== 'chat/completions' && this.#path !== 'completions')) return;
    if (this.bytes('stream')?.toString('latin1') !== 'true') return;
    // Some dialects give it unasked, and refuse to be asked.
    const { deployment, upstreamModel } = this.#options;
    if (!deployment.provider.supportedParameters(this.#path, upstreamModel).has('stream_options')) return;
    const given = this.bytes('stream_options') ?? emptyObject;
    const members = objectMembers(given, 0, given.length);
    if (members === undefined || members.some(({ key }) => key === 'include_usage')) return;
    const edits = memberEdits({ members, start: 0 }, { added: [['include_usage', 'true']] });
    this.#set('stream_options', Buffer.concat(spliceChunks([given], given.length, edits)));
  }

  finish(): Buffer[] {
    const edits = memberEdits(this.#object, {
      removed: this.#removed,
      replaced: this.#replaced,
      added: [...this.#added],
    });
    return spliceJson(this.#object, edits);
  }

  bytes(name: string): Buffer | undefined {
    const added = this.#added.get(name);
    if (added !== undefined) return isNull(added) ? undefined : added;
    const member = this.#member(name);
    if (member === undefined) return undefined;
    const value = this.#replaced.get(member) ?? this.#received(member);
    return isNull(value) ? undefined : value;
  }

  mayHold(name: string, keys: readonly string[]): boolean {
    const member = this.#member(name);
    // What did not come from the client was not looked at.
    if (this.#added.has(name) || (member !== undefined && this.#replaced.has(member))) return true;
    const { innerKeys } = this.#object;
    return member !== undefined && keys.some((key) => innerKeys.mayHave(key));
  }

  contains(name: string, texts: readonly Buffer[], isIt?: (following: string) => boolean): boolean {
    const member = this.#member(name);
    const value = this.#added.get(name) ?? (member && this.#replaced.get(member));
    if (value !== undefined) return containsText([value], { start: 0, end: value.length }, texts, isIt);
    if (member === undefined) return false;
    const { chunks, longTexts } = this.#object;
    const parts = partsWithout(longTexts, { start: member.valueStart, end: member.valueEnd });
    return parts.some((part) => containsText(chunks, part, texts, isIt));
  }

  /** The last one of that name that goes upstream. */
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

  /** In the place of the last one of that name, or behind all others; the name stands there once. */
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
const emptyObject = Buffer.from('{}');

// Of a request, what it says to the proxy: bounds on what one client can make it do for all others.
const MAXIMUM_SPOKEN_BYTES = 16_384;
const MAXIMUM_DROP_PATHS = 64;
const MAXIMUM_EXTRA_MEMBERS = 1_000;

function isNull(value: Buffer): boolean {
  return value.length === 4 && value[0] === 0x6e;
}

/** `"true"` counts: clients send it so, and LiteLLM has learned to understand it. */
function asSwitch(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return undefined;
  const word = value.toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : undefined;
}

function asNames(value: unknown, name: string): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw invalidParameter(name, 'has to be a list of names');
}
