/**
 * The calls of Glance's API for the images of this service.
 * @see https://docs.openstack.org/api-ref/image/v2/
 */
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { DriverError } from '../../driver-error.js';
import type { IgnoredLog } from '../http/answer-forms.js';
import type { CloudAnswer } from '../http/exchange.js';
import { PageWalk } from '../http/page-walk.js';
import { bodyOf, type CloudSession } from '../http/session.js';

/** An image of this service in Glance. */
export interface CloudImage {
  readonly id: string;
  /** Contains a hash of the URL, and one of the content if other inserts may use the image: see media/image-key.ts. */
  readonly name: string;
  /** `queued`, `saving`, `importing`, `active`, `killed`, … */
  readonly status: string;
  /** The URL of the original image; undefined if a user removed the property. */
  readonly url: string | undefined;
  /** Undefined until the image is complete. */
  readonly sizeBytes: number | undefined;
  /** Whether Glance could not import the image, and set its status back to `queued`. */
  readonly hasImportFailed: boolean;
  /** All properties that are texts. */
  readonly properties: ReadonlyMap<string, string>;
}

/** The name and the properties of a new image. */
interface NewImage {
  readonly name: string;
  readonly url: string;
  /** Bus of the CD drive from which Nova boots the image. */
  readonly bus: string;
  /** Further properties. */
  readonly properties: Readonly<Record<string, string>>;
}

/** A note: an image without content that only stores properties. */
interface NewNote {
  /** Glance accepts each id only once, even after the image is deleted. */
  readonly id: string;
  readonly name: string;
  readonly properties: Readonly<Record<string, string>>;
}

/**
 * Glance's API. All methods throw as {@link CloudSession.request}. If Glance rejects the request, `list` and `get`
 * throw a {@link CloudFailure}, and all other methods a {@link DriverError}.
 */
export interface ImageApi {
  /** Returns the images of this service in the project, oldest first. */
  list(): Promise<readonly CloudImage[]>;
  /** Returns one image of this service; undefined if there is none with this id. */
  get(id: string): Promise<CloudImage | undefined>;
  /** Creates an image without content. */
  create(image: NewImage): Promise<CloudImage>;
  /** Creates a note. Does nothing if an image with the given id exists, or has existed. */
  createNote(note: NewNote): Promise<void>;
  /** Sends the content. @throws the failure of the stream; the signal's reason. */
  upload(id: string, body: Readable, signal: AbortSignal): Promise<void>;
  /**
   * Returns the first bytes of the content, decoded as latin1. Shorter content is returned
   * completely.
   */
  readHead(id: string, bytes: number): Promise<string>;
  /** Lets Glance fetch the content. The fetch continues in the background. */
  fetch(id: string, url: string): Promise<void>;
  /** Sets a property. @param value null removes the property, and does nothing if the property or the image is gone. */
  setProperty(id: string, name: string, value: string | null): Promise<void>;
  /** Deletes an image. Does nothing if there is no such image. */
  remove(id: string): Promise<void>;
}

/** The tag of the images of this service. */
const TAG = 'rackless-media';
const URL_PROPERTY = 'rackless_url';
/** Members of every new image. */
const ours = { visibility: 'private', disk_format: 'iso', container_format: 'bare', tags: [TAG] };
const PAGE_SIZE = 1000;
/** Maximum number of pages. It is high, because Glance may send fewer images on a page than the driver requests. */
const MAX_PAGES = 100;

const imageSchema = z.looseObject({
  id: z.guid(),
  name: z.string().nullish(),
  status: z.string(),
  size: z.number().nullish().catch(null),
  visibility: z.string().optional(),
  tags: z.array(z.string()).default([]),
});
const listSchema = z.object({ images: z.array(z.unknown()), next: z.string().optional() });

/** Creates the API of a session. */
export function createImageApi(session: CloudSession, ignoredLog: IgnoredLog): ImageApi {
  const service = 'image';
  const patchType = { 'content-type': 'application/openstack-images-v2.1-json-patch' };
  const send = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, parts: object = {}) =>
    session.request({ service, method, path, ...parts });
  const pathOf = (id: string): string => `/v2/images/${encodeURIComponent(id)}`;
  const rejectionError = (doing: string, answer: CloudAnswer): DriverError =>
    errorOfStatus(`${doing}: Glance answers ${session.reason(answer)}`, answer.status);

  return {
    list: () => listImages(session, ignoredLog),
    get: async (id) => {
      const answer = await send('GET', pathOf(id));
      if (answer.status === 404) return undefined;
      const image = bodyOf(imageSchema, answer, session, service);
      return isOurs(image) ? imageOf(image) : undefined;
    },
    create: async ({ name, url, bus, properties }) => {
      const rescue = { hw_rescue_device: 'cdrom', hw_rescue_bus: bus };
      const body = { ...ours, name, ...rescue, [URL_PROPERTY]: url, ...properties };
      const answer = await send('POST', '/v2/images', { body });
      if (answer.status !== 201) throw rejectionError('creating an image', answer);
      return imageOf(bodyOf(imageSchema, { ...answer, status: 200 }, session, service));
    },
    createNote: async ({ id, name, properties }) => {
      const answer = await send('POST', '/v2/images', { body: { ...ours, id, name, ...properties } });
      if (answer.status >= 300 && answer.status !== 409) throw rejectionError('creating an image', answer);
    },
    upload: async (id, body, signal) => {
      const answer = await session.upload({ service, path: `${pathOf(id)}/file`, body, signal });
      if (answer.status >= 300) throw rejectionError('storing the image', answer);
    },
    readHead: async (id, bytes) => {
      // A Glance that does not support ranges sends the whole image. `headBytes` then limits how
      // much is read.
      const headers = { accept: 'application/octet-stream', range: `bytes=0-${bytes - 1}` };
      const answer = await send('GET', `${pathOf(id)}/file`, { headers, headBytes: bytes });
      // 204 and 416: the image has no content.
      if (answer.status === 204 || answer.status === 416) return '';
      if (answer.status >= 300) throw rejectionError('checking the image', answer);
      return answer.text;
    },
    fetch: async (id, uri) => {
      const answer = await send('POST', `${pathOf(id)}/import`, { body: { method: { name: 'web-download', uri } } });
      if (answer.status >= 300) throw rejectionError('letting Glance fetch the image', answer);
    },
    setProperty: async (id, name, value) => {
      const path = `/${name}`;
      const change = value === null ? { op: 'remove', path } : { op: 'add', path, value };
      const answer = await send('PATCH', pathOf(id), { body: [change], headers: patchType });
      // The property or the image is gone already.
      const isGone = value === null && (answer.status === 404 || answer.status === 409);
      if (answer.status >= 300 && !isGone) throw rejectionError(`changing the image ${id}`, answer);
    },
    remove: async (id) => {
      const answer = await send('DELETE', pathOf(id));
      if (answer.status >= 300 && answer.status !== 404) throw rejectionError(`deleting the image ${id}`, answer);
    },
  };
}

async function listImages(session: CloudSession, ignoredLog: IgnoredLog): Promise<readonly CloudImage[]> {
  const service = 'image';
  // Without this condition, an administrator would get the images of all projects.
  const owner = await session.projectId();
  const limits = {
    tag: TAG,
    limit: String(PAGE_SIZE),
    sort: 'created_at:asc',
    ...(owner === undefined ? {} : { owner }),
  };
  let query = new URLSearchParams(limits);
  const images = new Map<string, CloudImage>();
  const walk = new PageWalk('listing the images', { title: 'Glance', maxPages: MAX_PAGES });
  for (;;) {
    const answer = await session.request({ service, method: 'GET', path: '/v2/images', query });
    const { images: members, next } = bodyOf(listSchema, answer, session, service);
    walk.count(members);
    for (const member of members) {
      const parsed = imageSchema.safeParse(member);
      if (!parsed.success) ignoredLog.add(service, member, parsed.error);
      else if (isOurs(parsed.data)) images.set(parsed.data.id, imageOf(parsed.data));
    }
    if (next === undefined) return [...images.values()];
    query = walk.follow(next);
  }
}

/**
 * Returns whether this service created an image. The tag is reliable, because only users of the
 * project can tag private images.
 */
function isOurs({ tags, visibility }: z.infer<typeof imageSchema>): boolean {
  return tags.includes(TAG) && visibility === 'private';
}

function imageOf(image: z.infer<typeof imageSchema>): CloudImage {
  const texts = Object.entries(image).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const properties = new Map(texts);
  const failed = properties.get('os_glance_failed_import') ?? '';
  const { id, name, status, size } = image;
  const url = properties.get(URL_PROPERTY);
  return {
    id,
    name: name ?? '',
    status,
    url,
    sizeBytes: size ?? undefined,
    hasImportFailed: failed !== '',
    properties,
  };
}

function errorOfStatus(message: string, status: number): DriverError {
  // 413: the quota of the project.
  if (status === 413) return new DriverError('storageFull', message);
  // 403: a policy of the cloud, or a quota.
  return new DriverError(status === 403 ? 'unsupported' : 'conflict', message);
}
