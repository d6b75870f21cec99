/** A form as a request's body: the recording or picture in it is passed on as it came, its `model` field with the upstream's name. */
import { bytesBetween } from '../json/text.js';
import { spliceChunks } from '../json/splice.js';
import { ambiguousMember, invalidMultipart } from '../errors.js';
import type { Route } from '../routing/router.js';
import { boundaryOf, MultipartError, MultipartScanner, type Form, type FormField } from './multipart.js';
import type { RequestBody } from './request-body.js';

/** @throws {ProxyError} 400: the content type names no boundary. */
export function createMultipartBody(contentType: string): RequestBody {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) throw invalidMultipart('the content type names no boundary');
  return new MultipartBody(boundary);
}

class MultipartBody implements RequestBody {
  readonly #boundary: string;
  readonly #scanner: MultipartScanner;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #form: Form = { fields: [], start: 0 };

  constructor(boundary: string) {
    this.#boundary = boundary;
    this.#scanner = new MultipartScanner(boundary);
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    asFault(() => this.#scanner.push(chunk));
  }

  finish(): void {
    this.#form = asFault(() => this.#scanner.finish());
  }

  model(): string | undefined {
    const fields = this.#named('model');
    if (fields.length > 1) throw ambiguousMember('model', 'duplicate');
    const [field] = fields;
    return field === undefined ? undefined : this.#text(field);
  }

  get streams(): boolean {
    return this.#named('stream').some((field) => this.#text(field) === 'true');
  }

  has(parameter: string): boolean {
    return this.#named(parameter).length > 0;
  }

  forUpstream({ upstreamModel }: Route): readonly Buffer[] {
    const [field] = this.#named('model');
    const edit =
      field === undefined
        ? { start: this.#form.start, end: this.#form.start, replacement: this.#modelPart(upstreamModel) }
        : { start: field.valueStart, end: field.valueEnd, replacement: Buffer.from(upstreamModel) };
    return spliceChunks(this.#chunks, this.#length, [edit]);
  }

  /** For a model that the path named. */
  #modelPart(model: string): Buffer {
    return Buffer.from(`--${this.#boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n`);
  }

  #named(name: string): FormField[] {
    return this.#form.fields.filter((field) => field.name === name);
  }

  #text({ valueStart, valueEnd }: FormField): string {
    return bytesBetween(this.#chunks, this.#length, valueStart, valueEnd).toString();
  }
}

function asFault<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof MultipartError ? invalidMultipart(error.message) : error;
  }
}
