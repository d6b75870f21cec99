/**
 * Reads request bodies that are forms. Replaces the value of the `model` field with the upstream's name, or adds the
 * field, and adds the `formFields` of the deployment. Forwards all other parts unchanged. After `model` was read, the
 * rest of an incomplete form goes upstream while it arrives.
 */
import { ChunkList } from '../../json/chunk-list.js';
import { spliceChunks } from '../../json/splice.js';
import { invalidMultipart, modelIsFile, repeatedField } from '../../errors/body.js';
import type { Selection } from '../../routing/router.js';
import { BodyStream } from '../../upstream/body-stream.js';
import { boundaryOf, MultipartError, MultipartScanner, type FormField } from './multipart.js';
import type { RequestBody } from './request-body.js';

/** The client that sends the form. */
interface FormSender {
  /** Content-Length of the form; null: the client announced no length. */
  readonly announcedBytes: number | null;
  /** Stops reading from the client. Chunks that are already read still arrive. */
  pause(): void;
  resume(): void;
}

/**
 * Makes the reader of a form.
 * @throws {ProxyError} 400: the content type has no boundary, or another parser could read another one.
 */
export function createMultipartBody(contentType: string, sender: FormSender): RequestBody {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) throw invalidMultipart('the content type has no boundary, or an unclear one');
  return new MultipartBody(boundary, sender);
}

const READ_FIELDS: ReadonlySet<string> = new Set(['model', 'stream']);

class MultipartBody implements RequestBody {
  readonly #boundary: string;
  readonly #sender: FormSender;
  readonly #scanner: MultipartScanner;
  /** The chunks of the form until {@link #stream} exists. */
  #received = new ChunkList();
  #length = 0;
  /** Offset of the first part's delimiter; null: the form is incomplete. */
  #start: number | null = null;
  #stream: BodyStream | null = null;
  /**
   * The last chunk of a form whose length was announced. It waits for the check of the form,
   * because it would complete the upstream's request.
   */
  #last: Buffer | null = null;

  constructor(boundary: string, sender: FormSender) {
    this.#boundary = boundary;
    this.#sender = sender;
    this.#scanner = new MultipartScanner(boundary, READ_FIELDS);
  }

  readonly asksForUsage = false;
  readonly tags: readonly string[] = [];

  push(chunk: Buffer): void {
    this.#length += chunk.length;
    const earlierFields = this.#scanner.fields.length;
    withFaults(() => this.#scanner.push(chunk));
    if (this.#stream === null) this.#received.push(chunk);
    else {
      // A second `model` field is a fault: the upstream could use it.
      if (this.#scanner.fields.length > earlierFields) this.model();
      if (this.#hasAllBytes()) this.#last = chunk;
      else if (!this.#stream.add(chunk)) this.#sender.pause();
    }
  }

  finish(): void {
    this.#start = withFaults(() => this.#scanner.finish()).start;
    if (this.#last !== null) this.#stream?.add(this.#last);
    this.#last = null;
    this.#stream?.finish();
  }

  /** False if all announced bytes have arrived, because a single write of the whole form is faster. */
  get canBeSent(): boolean {
    return !this.#hasAllBytes() && this.#fieldsNamed('model').length > 0;
  }

  /** False for a form that is sent while it arrives, because it is not stored. */
  get canBeRepeated(): boolean {
    return this.#stream === null;
  }

  model(): string | undefined {
    const [field, second] = this.#fieldsNamed('model');
    if (second !== undefined) throw repeatedField('model');
    if (field?.isFile === true) throw modelIsFile();
    return field?.value ?? undefined;
  }

  get streams(): boolean {
    return this.#fieldsNamed('stream').some(({ value }) => value === 'true');
  }

  has(parameter: string): boolean {
    return this.#fieldsNamed(parameter).length > 0;
  }

  beginning(): undefined {
    return undefined;
  }

  parameter(): undefined {
    return undefined;
  }

  forUpstream({ deployment, upstreamModel }: Selection): readonly Buffer[] | BodyStream {
    const [field] = this.#fieldsNamed('model');
    const start = this.#start ?? 0;
    const edit =
      field === undefined
        ? { start, end: start, replacement: this.#part('model', upstreamModel) }
        : { start: field.valueStart, end: field.valueEnd, replacement: Buffer.from(upstreamModel) };
    const added = Object.entries(deployment.formFields ?? {}).map(([name, value]) => this.#part(name, value));
    const first = { start: 0, end: 0, replacement: Buffer.concat(added) };
    const edits = added.length === 0 ? [edit] : [first, edit];
    const received = spliceChunks(this.#received.chunks, this.#length, edits);
    if (this.#start !== null) return received;
    this.#received = new ChunkList();
    const { announcedBytes } = this.#sender;
    const growth = first.replacement.length + edit.replacement.length - (edit.end - edit.start);
    this.#stream = new BodyStream({
      byteLength: announcedBytes === null ? null : announcedBytes + growth,
      beginning: received,
      onRoom: () => this.#sender.resume(),
    });
    return this.#stream;
  }

  #hasAllBytes(): boolean {
    return this.#length === this.#sender.announcedBytes;
  }

  /** Makes a text field, such as `model` for a request whose path names the model. */
  #part(name: string, value: string): Buffer {
    return Buffer.from(`--${this.#boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
  }

  #fieldsNamed(name: string): FormField[] {
    return this.#scanner.fields.filter((field) => field.name === name);
  }
}

/** Runs an action. Converts a {@link MultipartError} to an error for the client. */
function withFaults<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof MultipartError ? invalidMultipart(error.message) : error;
  }
}
