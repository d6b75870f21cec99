/** A JSON object as a request's body: verified to its last brace, never parsed as a whole. */
import { ambiguousMember, invalidJson, modelNotText } from '../errors.js';
import { KeySketch } from '../json/key-sketch.js';
import { JsonError, type JsonObject } from '../json/object.js';
import { JsonObjectScanner } from '../json/scanner.js';
import { isInOtherCase, memberNamed, textOf } from '../json/text.js';
import { prepareRequestBody } from '../providers/request-body.js';
import type { Selection } from '../routing/router.js';
import type { ProxySettings } from '../settings.js';
import type { Endpoint } from './endpoint.js';
import { BodyBlocks, isForBlocks } from './body-blocks.js';
import type { RequestBody } from './request-body.js';

export function createJsonBody(): RequestBody {
  return new JsonBody();
}

const nothing: JsonObject = {
  chunks: [],
  length: 0,
  start: 0,
  end: 0,
  members: [],
  innerKeys: new KeySketch(),
  longTexts: [],
};

class JsonBody implements RequestBody {
  /** It is checked to its last brace before anybody gets it. */
  readonly canBeSent = false;
  readonly #scanner = new JsonObjectScanner();
  #blocks: BodyBlocks | null = null;
  #object: JsonObject = nothing;

  push(chunk: Buffer): void {
    try {
      if (!isForBlocks(chunk, this.#scanner.length)) this.#scanner.push(chunk);
      else for (const piece of (this.#blocks ??= new BodyBlocks()).keep(chunk)) this.#scanner.push(piece);
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
      // Python takes the last of two, Go that in any case: what was checked here must be what runs there.
      if (isInOtherCase(member.key, 'model')) throw ambiguousMember('model', 'capital');
      if (member.key !== 'model') continue;
      if (found !== undefined) throw ambiguousMember('model', 'duplicate');
      if (member.escaped) throw ambiguousMember('model', 'escaped');
      found = member;
    }
    if (found === undefined) return undefined;
    const text = textOf(this.#object, found);
    if (text === 'null') return undefined;
    if (!text.startsWith('"')) throw modelNotText(path);
    // Verified already: without escapes a text is what stands between its quotes.
    return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1);
  }

  get streams(): boolean {
    const member = memberNamed(this.#object, 'stream');
    if (member === undefined || member.valueEnd - member.valueStart !== 4) return false;
    return textOf(this.#object, member) === 'true';
  }

  has(parameter: string): boolean {
    return memberNamed(this.#object, parameter) !== undefined;
  }

  forUpstream(
    { deployment, upstreamModel }: Selection,
    endpoint: Endpoint,
    { alwaysIncludeStreamUsage }: ProxySettings,
  ): readonly Buffer[] {
    return prepareRequestBody(this.#object, { endpoint, deployment, upstreamModel, alwaysIncludeStreamUsage });
  }

  release(): void {
    this.#object = nothing;
    this.#blocks?.release();
  }
}

function asFault(error: unknown): unknown {
  return error instanceof JsonError ? invalidJson(error) : error;
}
