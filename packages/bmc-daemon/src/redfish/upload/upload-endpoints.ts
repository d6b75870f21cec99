/**
 * Uploads of files with the tus protocol 1.0: core, creation, termination and expiration. POST
 * announces a file, PATCH appends bytes, HEAD returns the number of received bytes, DELETE cancels.
 * @see https://tus.io/protocols/resumable-upload
 */
import { withDeadline } from '@rackless/daemon/deadline.js';
import { emptyAnswer, jsonAnswer, type Answer } from '../answer.js';
import type { Guard } from '../authorize.js';
import type { Exchange } from '../exchange.js';
import { toRedfishError } from '../messages/driver-errors.js';
import { clientGoneError, RedfishError, redfishError } from '../messages/errors.js';
import { message, withDetail } from '../messages/messages.js';
import type { EndpointOptions, Operation } from '../operation.js';
import type { Params, Resource } from '../resource.js';
import { inTurn } from '../write/received-write.js';
import { announcedFile, byteCount, checkVersion, TUS_VERSION } from './tus-headers.js';
import type { Upload } from './uploads.js';

type UploadedResource<Services> = Resource<Services> & Required<Pick<Resource<Services>, 'upload'>>;

const PATH = 'Oem/Rackless/Uploads';
const uploadType = 'application/offset+octet-stream';
const capabilities = {
  'Tus-Resumable': TUS_VERSION,
  'Tus-Version': TUS_VERSION,
  'Tus-Extension': 'creation,termination,expiration',
};

/** Returns the URI to which a client announces a file for a resource. */
export function uploadUri(resourceUri: string): string {
  return `${resourceUri}/${PATH}`;
}

/** The rights for the paths of a resource. */
interface Rights {
  readonly guard: Guard;
  /** Whether the resource belongs to the client's own account, for `guard`. */
  readonly isOwn: (exchange: Exchange, params: Params) => boolean;
}

/** A path for uploads, as an endpoint. Its OPTIONS needs no login. */
interface UploadEndpoint extends Rights {
  readonly route: string;
  readonly methodsWithoutLogin: ReadonlySet<string>;
  readonly allow: string;
  readonly operations: ReadonlyMap<string, Operation>;
  readonly isCollection: false;
}

/**
 * Returns the endpoints for uploads to a resource at one of its templates; none if the resource accepts
 * no files.
 */
export function uploadEndpoints<Services>(
  { upload, ...resource }: Resource<Services>,
  template: string,
  rights: Rights,
  options: EndpointOptions<Services>,
): readonly { readonly template: string; readonly target: UploadEndpoint }[] {
  if (upload === undefined) return [];
  const { create, inspect, append, cancel } = operationsOf({ ...resource, upload }, options);
  const at = (path: string, operations: ReadonlyMap<string, Operation>) => {
    const allow = [...operations.keys()].join(', ');
    const answerOptions: Operation = () => emptyAnswer(204, { ...capabilities, Allow: allow });
    const checked = [...operations].map(([method, run]) => [method, withTus(run)] as const);
    const target: UploadEndpoint = {
      ...rights,
      route: `${resource.uri}/${path}`,
      methodsWithoutLogin: new Set(['OPTIONS']),
      allow,
      operations: new Map([['OPTIONS', answerOptions], ...checked]),
      isCollection: false,
    };
    return { template: `${template}/${path}`, target };
  };
  const uploadOperations = new Map([
    ['HEAD', inspect],
    ['PATCH', append],
    ['DELETE', cancel],
  ]);
  return [at(PATH, new Map([['POST', create]])), at(`${PATH}/{uploadId}`, uploadOperations)];
}

/** Checks the version of the protocol, and adds it to the answer, also to an error. */
function withTus(operation: Operation): Operation {
  return async (exchange, params) => {
    try {
      checkVersion(exchange.request.headers);
      const answer = await operation(exchange, params);
      return { ...answer, headers: [...answer.headers, 'Tus-Resumable', TUS_VERSION] };
    } catch (error) {
      const { status, messages, headers, cause } = toRedfishError(error, { path: exchange.path });
      throw new RedfishError(status, messages, { ...headers, 'Tus-Resumable': TUS_VERSION }, cause);
    }
  };
}

function operationsOf<Services>(
  resource: UploadedResource<Services>,
  options: EndpointOptions<Services>,
): Readonly<Record<'create' | 'inspect' | 'append' | 'cancel', Operation>> {
  const { upload: definition } = resource;
  const { uploads, read, viewOf } = options;
  const withoutBody = { ...options, readBody: () => Promise.resolve(undefined) };
  const requestOf = (exchange: Exchange, params: Params) => ({
    params,
    services: viewOf(exchange).services,
    requester: exchange.requester,
  });
  const find = async (exchange: Exchange, params: Params): Promise<Upload> => {
    const entity = await resource.load(requestOf(exchange, params));
    return uploads.find(params['uploadId'] ?? '', definition.place(entity), exchange.path);
  };
  const create = async (exchange: Exchange, params: Params): Promise<Answer> => {
    const file = announcedFile(exchange.request.headers);
    const request = requestOf(exchange, params);
    const entity = await resource.load(request);
    const upload = await uploads.begin(definition.place(entity), (id) =>
      definition.begin(entity, { ...file, id, path: exchange.path }, request),
    );
    const { body = '' } = upload.task === null ? {} : await read(upload.task, exchange);
    const headers = { Location: `${exchange.path.replace(/\/$/, '')}/${upload.id}`, ...progressHeaders(upload) };
    return body === '' ? emptyAnswer(201, headers) : jsonAnswer(201, body, headers);
  };
  const inspect = async (exchange: Exchange, params: Params): Promise<Answer> => {
    const upload = await find(exchange, params);
    // A client that reads 410 begins again (tus, HEAD).
    if (upload.outcome instanceof RedfishError) throw new RedfishError(410, upload.outcome.messages);
    return emptyAnswer(200, { ...progressHeaders(upload), 'Upload-Length': String(upload.content.sizeBytes) });
  };
  const cancel = async (exchange: Exchange, params: Params): Promise<Answer> => {
    const upload = await find(exchange, params);
    upload.cancel(exchange.requester);
    await upload.ended;
    return emptyAnswer(204);
  };
  return {
    create: inTurn(withoutBody, create),
    inspect,
    append: async (exchange, params) => appendTo(await find(exchange, params), exchange),
    cancel: inTurn(withoutBody, cancel),
  };
}

/**
 * Appends the body of a PATCH. The last PATCH waits until the image is in the drive, but not longer
 * than `waitMs`. After this time, it succeeds without the result of the insert.
 * @throws {RedfishError} 400, 409, 413 or 415 for the request; 499 if the client has disconnected; the
 *   error of an upload that has failed.
 */
async function appendTo(upload: Upload, { request }: Exchange): Promise<Answer> {
  const { content, ended, waitMs, outcome } = upload;
  const { headers } = request;
  if (headers['content-type'] !== uploadType) {
    throw new RedfishError(415, [message('HeaderInvalid', 'Content-Type')], { Accept: uploadType });
  }
  const offset = byteCount(headers, 'Upload-Offset');
  if (outcome instanceof RedfishError) throw outcome;
  if (offset !== content.offset) {
    const detail = `The upload has ${content.offset} bytes.`;
    const fault = withDetail(message('HeaderInvalid', 'Upload-Offset'), detail);
    throw new RedfishError(409, [fault], { 'Upload-Offset': String(content.offset) });
  }
  if (offset + Number(headers['content-length'] ?? 0) > content.sizeBytes) throw redfishError('PayloadTooLarge');
  try {
    const result = await content.append(request);
    if (result === 'tooLong') throw redfishError('PayloadTooLarge');
    if (result === 'replaced') throw replacedError();
  } catch (error) {
    if (error instanceof RedfishError) throw error;
    if (request.destroyed && !request.complete) throw clientGoneError();
    throw (await ended) ?? error;
  }
  if (content.offset === content.sizeBytes) {
    const failure = await withDeadline(ended, waitMs, () => null);
    if (failure !== null) throw failure;
  }
  return emptyAnswer(204, progressHeaders(upload));
}

function replacedError(): RedfishError {
  return new RedfishError(409, [withDetail(message('ResourceInUse'), 'Another request continues the upload.')]);
}

function progressHeaders({ content: { offset, sizeBytes, expiryMs } }: Upload): Readonly<Record<string, string>> {
  const expires = new Date(Date.now() + expiryMs).toUTCString();
  return { 'Upload-Offset': String(offset), ...(offset < sizeBytes ? { 'Upload-Expires': expires } : {}) };
}
