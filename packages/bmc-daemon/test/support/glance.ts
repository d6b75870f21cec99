/** Glance for a {@link CloudServer}, for faults that a real Glance cannot have on demand. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson, type NovaHandler } from './cloud-server.js';

/** An image as Glance shows it. */
export type GlanceImage = Record<string, unknown> & { readonly id: string };

/** The images, and the faults. */
export interface Glance {
  readonly handler: NovaHandler;
  readonly images: Map<string, GlanceImage>;
  /** Adds an image like those that the driver creates. Returns its id. @param parts replace its properties. */
  put(parts?: Record<string, unknown>): string;
  /** The content of all images, also of uploaded ones: an upload stores only the size. */
  content: Buffer;
  /** Whether Glance sends parts of images. */
  sendsRanges: boolean;
  /** Status of an image after `web-download`. `queued`: the import has failed. */
  imported: 'active' | 'queued';
  /** Status of the answer to an upload. */
  uploadStatus: number;
}

/** Creates a Glance without images and without faults. */
export function createGlance(): Glance {
  const images: Glance['images'] = new Map();
  const sendContent = ({ headers }: IncomingMessage, response: ServerResponse): void => {
    const { content, sendsRanges } = glance;
    const [, first = '', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    const part = sendsRanges && first !== '' ? content.subarray(Number(first), Number(last) + 1) : content;
    response.writeHead(part === content ? 200 : 206, { 'content-type': 'application/octet-stream' }).end(part);
  };
  const ids = new Set<string>();
  const glance: Glance = {
    images,
    put: (parts = {}) => {
      const id = randomUUID();
      const own = {
        name: 'rackless-0123456789abcdef-0123456789abcdef.iso',
        rackless_region: 'R1',
        rackless_url: 'http://x/',
      };
      images.set(id, { id, status: 'active', visibility: 'private', tags: ['rackless-media'], ...own, ...parts });
      return id;
    },
    content: Buffer.alloc(0),
    sendsRanges: true,
    imported: 'active',
    uploadStatus: 204,
    handler: (request, response, path) => {
      const { pathname, searchParams } = new URL(path, 'http://glance');
      const [, , , id = '', part] = pathname.split('/');
      const image = images.get(id);
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        if (id === '' && request.method === 'GET') {
          const [tag, wanted] = [searchParams.get('tag'), searchParams.get('name')];
          const found = [...images.values()]
            .filter(({ tags }) => tag === null || (tags as string[]).includes(tag)) // every image has a list of tags
            .filter(({ name }) => wanted === null || name === wanted);
          sendJson(response, 200, { images: found });
        } else if (id === '') {
          const created = { id: randomUUID(), status: 'queued', ...(JSON.parse(text) as object) }; // the driver sends objects
          if (ids.has(created.id)) response.writeHead(409).end('an image with this id exists, or has existed');
          else {
            ids.add(created.id);
            images.set(created.id, created);
            sendJson(response, 201, created);
          }
        } else if (image === undefined) response.writeHead(404).end('no image found');
        else if (part === 'file' && request.method === 'GET') sendContent(request, response);
        else if (part === 'file') {
          if (glance.uploadStatus < 300) images.set(id, { ...image, status: 'active', size: text.length });
          response.writeHead(glance.uploadStatus).end();
        } else if (part === 'import') {
          const failed = glance.imported === 'queued' ? { os_glance_failed_import: 'file' } : {};
          images.set(id, { ...image, status: glance.imported, size: glance.content.length, ...failed });
          response.writeHead(202).end();
        } else if (request.method === 'DELETE' && image['protected'] === true) {
          response.writeHead(403).end('the image is protected');
        } else if (request.method === 'DELETE') {
          images.delete(id);
          response.writeHead(204).end();
        } else if (request.method === 'PATCH') {
          // The driver sends a JSON Patch.
          const changes = JSON.parse(text) as { op: string; path: string; value?: string }[];
          const members = new Map(Object.entries(image));
          for (const { op, path: name, value } of changes) {
            if (op === 'remove') members.delete(name.slice(1));
            else members.set(name.slice(1), value);
          }
          images.set(id, { ...Object.fromEntries(members), id });
          sendJson(response, 200, images.get(id));
        } else sendJson(response, 200, image);
      });
    },
  };
  return glance;
}
