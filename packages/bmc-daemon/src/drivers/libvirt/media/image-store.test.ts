import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { imageLimits } from '../../../../test/support/image-limits.js';
import type { ImageRequest } from '../../../media/image.js';
import type { ImagePlace, ImageVolumes } from './image-volumes.js';
import { ImageStore } from './image-store.js';
import type { ImageLease } from './stored-images.js';

/** Images in memory, with the contract of {@link ImageVolumes}. */
class MemoryImages implements ImageVolumes {
  readonly files = new Map<string, Buffer>();

  list(): Promise<readonly string[]> {
    return Promise.resolve([...this.files.keys()]);
  }
  find(name: string): Promise<ImagePlace | null> {
    return Promise.resolve(this.files.has(name) ? placeOf(name) : null);
  }
  async put(name: string, body: Readable): Promise<void> {
    this.files.set(name, await buffer(body));
  }
  remove(name: string): Promise<void> {
    this.files.delete(name);
    return Promise.resolve();
  }
}
const placeOf = (name: string): ImagePlace => ({
  source: { type: 'file', path: `/pool/${name}` },
  name: `/pool/${name}`,
});

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<URL> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/x.iso`);
}

function storeOn(pool: ImageVolumes, used = new Set<string>()): { store: ImageStore; warnings: string[] } {
  const warnings: string[] = [];
  const store = new ImageStore({
    openImageVolumes: () => Promise.resolve(pool),
    sourcesInUse: () => Promise.resolve(used),
    limits: { ...imageLimits, maxBytes: 1_000_000 },
    warn: (message) => warnings.push(message),
  });
  return { store, warnings };
}

const image = (url: URL, more: Partial<ImageRequest> = {}): ImageRequest => ({
  url,
  writeProtected: true,
  verifyCertificate: true,
  ...more,
});

describe('ImageStore', () => {
  it('downloads once for concurrent callers, and reports progress to each', async () => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests += 1;
      response.writeHead(200, { 'content-length': 100 });
      response.end(Buffer.alloc(100));
    });
    const { store } = storeOn(new MemoryImages());
    const progress: number[][] = [[], []];
    const leases = await Promise.all(
      progress.map((seen) => store.acquire(image(url), { onProgress: (percent) => seen.push(percent) })),
    );
    expect(requests).toBe(1);
    expect(leases[0]?.name).toBe(leases[1]?.name);
    expect(progress).toEqual([[100], [100]]);
  });

  it('downloads again if the server does not identify the content', async () => {
    let content = 'first';
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': content.length });
      response.end(content);
    });
    const pool = new MemoryImages();
    const { store } = storeOn(pool);
    await store.acquire(image(url));
    content = 'later';
    await store.acquire(image(url));
    expect([...pool.files.values()].map(String)).toEqual(['first', 'later']);
  });

  it('continues a download if one caller aborts and another one still waits', async () => {
    let pending: ServerResponse | undefined;
    let closed = false;
    const url = await serve((_request, response) => {
      pending = response;
      response.on('close', () => (closed = true));
      response.writeHead(200, { 'content-length': 4 }).write('ab');
    });
    const { store } = storeOn(new MemoryImages());
    const first = new AbortController();
    const gone = store.acquire(image(url), { signal: first.signal }).catch((error: unknown) => error);
    const stays = store.acquire(image(url));
    while (pending === undefined) await new Promise((resolve) => setImmediate(resolve));
    first.abort(new Error('gone'));
    expect(await gone).toEqual(new Error('gone'));
    expect(closed).toBe(false);
    pending.end('cd');
    expect((await stays).source.type).toBe('file');
  });

  it('does not share an image between different credentials', async () => {
    const url = await serve((request, response) => {
      const allowed = request.headers.authorization !== undefined;
      response.writeHead(allowed ? 200 : 401, { etag: '"1"', 'content-length': allowed ? 3 : 0 });
      response.end(allowed && request.method === 'GET' ? 'iso' : undefined);
    });
    const pool = new MemoryImages();
    const { store } = storeOn(pool);
    await store.acquire(image(url, { userName: 'u', password: 'p' }));
    await expect(store.acquire(image(url))).rejects.toMatchObject({ kind: 'mediaAuth' });
    expect(pool.files.size).toBe(1);
  });

  it('removes unused images, except leased images', async () => {
    const url = await serve((_request, response) => response.end('iso'));
    const pool = new MemoryImages();
    const used = new Set<string>();
    const { store } = storeOn(pool, used);
    const lease: ImageLease = await store.acquire(image(url));
    await store.removeUnused();
    expect(pool.files.size).toBe(1);
    used.add(lease.name);
    lease.release();
    await store.removeUnused();
    expect(pool.files.size).toBe(1);
    used.clear();
    await store.removeUnused();
    expect(pool.files.size).toBe(0);
  });

  it('deletes nothing and warns if it cannot find out which images are used', async () => {
    const url = await serve((_request, response) => response.end('iso'));
    const pool = new MemoryImages();
    const warnings: string[] = [];
    let answer: () => Promise<ReadonlySet<string>> = () => Promise.resolve(new Set());
    const store = new ImageStore({
      openImageVolumes: () => Promise.resolve(pool),
      sourcesInUse: () => answer(),
      limits: { ...imageLimits, maxBytes: 1_000_000 },
      warn: (message) => warnings.push(message),
    });
    (await store.acquire(image(url))).release();
    answer = () => Promise.reject(new Error('the host does not answer'));
    await store.removeUnused();
    expect(pool.files.size).toBe(1);
    expect(warnings).toEqual(['removing unused images failed']);
  });

  it('downloads an image again if another program has deleted it', async () => {
    let requests = 0;
    const url = await serve((request, response) => {
      if (request.method === 'GET') requests += 1;
      response.writeHead(200, { etag: '"1"', 'content-length': 3 });
      response.end(request.method === 'GET' ? 'iso' : undefined);
    });
    const pool = new MemoryImages();
    const { store } = storeOn(pool);
    await store.acquire(image(url));
    pool.files.clear();
    await store.acquire(image(url));
    expect([requests, pool.files.size]).toEqual([2, 1]);
  });

  it('creates the pool once, with the first image', async () => {
    const url = await serve((_request, response) => response.end('iso'));
    const pool = new MemoryImages();
    const opened: boolean[] = [];
    const store = new ImageStore({
      openImageVolumes: async ({ create }) => {
        opened.push(create);
        await new Promise((resolve) => setImmediate(resolve));
        return create ? pool : null;
      },
      sourcesInUse: () => Promise.resolve(new Set()),
      limits: { ...imageLimits, maxBytes: 1_000_000 },
      warn: () => undefined,
    });
    await Promise.all([
      store.tidy(),
      store.acquire(image(url)),
      store.acquire(image(url)),
      store.removeUnused(),
      store.acquire(image(url)),
    ]);
    expect(opened).toEqual([false, true]);
    expect(pool.files.size).toBe(1);
  });

  it('aborts its downloads on close', async () => {
    const url = await serve((_request, response) => response.writeHead(200, { 'content-length': 4 }).write('ab'));
    const pool = new MemoryImages();
    const { store } = storeOn(pool);
    const outcome = store.acquire(image(url)).catch((error: unknown) => error);
    await new Promise((resolve) => setImmediate(resolve));
    await store.close();
    expect(await outcome).toMatchObject({ kind: 'unavailable' });
    expect(pool.files.size).toBe(0);
  });
});
