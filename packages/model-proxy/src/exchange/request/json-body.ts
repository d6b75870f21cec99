/** Reads request bodies in JSON. Verifies the whole object, but does not build its values. */
import { parseJson } from '@rackless/daemon/text/json.js';
import { modelNotText } from '../../errors/model.js';
import { ambiguousMember, invalidJson } from '../../errors/body.js';
import { KeySketch } from '../../json/key-sketch.js';
import { JsonError, type JsonObject } from '../../json/object.js';
import { JsonObjectScanner } from '../../json/scanner.js';
import { bytesBetween, isInOtherCase, memberNamed, spelledText, valueOf } from '../../json/text.js';
import { prepareRequestBody } from '../../providers/request-body.js';
import type { DialectRequest } from '../../providers/dialect.js';
import type { TranslatedCall } from '../../providers/translation.js';
import type { Selection } from '../../routing/router.js';
import type { ProxySettings } from '../../settings.js';
import type { Endpoint } from '../../endpoints/endpoint.js';
import { needsUsage } from '../report-options.js';
import { BodyBlocks, isForBlocks } from './body-blocks.js';
import type { RequestBody } from './request-body.js';

/** Makes the reader of a JSON body. */
export function createJsonBody(): RequestBody {
  return new JsonBody();
}

/** Longer parameters are not parsed: parsing a megabyte would block other requests. */
const MAX_PARAMETER_BYTES = 16_384;

const emptyObject: JsonObject = {
  chunks: [],
  length: 0,
  start: 0,
  end: 0,
  members: [],
  innerKeys: new KeySketch(),
  longTexts: [],
};

/** Tags are read only in metadata up to this size. */
const MAX_METADATA_BYTES = 16_384;

function tagsOf(metadata: unknown): string[] {
  if (typeof metadata !== 'object' || metadata === null || !('tags' in metadata)) return [];
  const { tags } = metadata;
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
}

class JsonBody implements RequestBody {
  /** A JSON object is verified to its end before the upstream gets it. */
  readonly canBeSent = false;
  readonly canBeRepeated = true;
  readonly #scanner = new JsonObjectScanner();
  #blocks: BodyBlocks | null = null;
  #object: JsonObject = emptyObject;

  push(chunk: Buffer): void {
    try {
      if (!isForBlocks(chunk, this.#scanner.length)) this.#scanner.push(chunk);
      else for (const piece of (this.#blocks ??= new BodyBlocks()).copy(chunk)) this.#scanner.push(piece);
    } catch (error) {
      throw asFault(error);
    }
  }

  finish(): void {
    try {
      this.#object = this.#scanner.finish();
    } catch (error) {
      throw asFault(error);
    }
  }

  model({ path }: Endpoint): string | undefined {
    let found;
    for (const member of this.#object.members) {
      // Python reads the last of two members with the same name, and Go ignores the case of names.
      // The upstream must run the model that the proxy checked.
      if (isInOtherCase(member.key, 'model')) throw ambiguousMember('model', 'capital');
      if (member.key !== 'model') continue;
      if (found !== undefined) throw ambiguousMember('model', 'duplicate');
      if (member.escaped) throw ambiguousMember('model', 'escaped');
      found = member;
    }
    if (found === undefined) return undefined;
    const text = spelledText(this.#object, found);
    if (text === 'null') return undefined;
    if (!text.startsWith('"')) throw modelNotText(path);
    // The scanner has verified the string. Without escapes, its value is the text between the
    // quotes.
    return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1);
  }

  get streams(): boolean {
    const member = memberNamed(this.#object, 'stream');
    if (member === undefined || member.valueEnd - member.valueStart !== 4) return false;
    return spelledText(this.#object, member) === 'true';
  }

  get asksForUsage(): boolean {
    const member = memberNamed(this.#object, 'stream_options');
    return member !== undefined && /"include_usage"\s*:\s*true/.test(spelledText(this.#object, member));
  }

  get tags(): readonly string[] {
    const names = metadataNames.filter((name) => this.has(name));
    // Most requests have no metadata.
    if (names.length === 0) return names;
    return names.flatMap((name) => {
      const member = memberNamed(this.#object, name);
      if (member === undefined || member.valueEnd - member.valueStart > MAX_METADATA_BYTES) return [];
      return tagsOf(parseJson(spelledText(this.#object, member)));
    });
  }

  has(parameter: string): boolean {
    return memberNamed(this.#object, parameter) !== undefined;
  }

  beginning(name: string, maxBytes: number): Buffer | undefined {
    const member = memberNamed(this.#object, name);
    if (member === undefined) return undefined;
    const { chunks, length } = this.#object;
    const end = Math.min(member.valueEnd, member.valueStart + maxBytes);
    return bytesBetween(chunks, length, member.valueStart, end);
  }

  parameter(name: string): unknown {
    const member = memberNamed(this.#object, name);
    if (member === undefined || member.valueEnd - member.valueStart > MAX_PARAMETER_BYTES) return undefined;
    return valueOf(this.#object, member);
  }

  forUpstream(
    { deployment, upstreamModel }: Selection,
    endpoint: Endpoint,
    settings: ProxySettings,
    translated: TranslatedCall | null,
  ): readonly Buffer[] | DialectRequest {
    const options = {
      endpoint,
      deployment,
      upstreamModel,
      alwaysIncludeStreamUsage: settings.alwaysIncludeStreamUsage,
      countsUsage: needsUsage(settings, deployment),
      translated,
    };
    return prepareRequestBody(this.#object, options);
  }

  release(): void {
    this.#object = emptyObject;
    this.#blocks?.release();
  }
}

const metadataNames: readonly string[] = ['metadata', 'litellm_metadata'];

function asFault(error: unknown): unknown {
  return error instanceof JsonError ? invalidJson(error) : error;
}
