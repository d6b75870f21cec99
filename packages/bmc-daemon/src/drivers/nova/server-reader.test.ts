/** Tests reads of ports while Nova waits for a slow or silent Neutron. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { idOf } from '../../../test/support/listed-servers.js';
import type { Port } from './compute/compute-api.js';
import { ServerList } from './compute/server-list.js';
import type { Server } from './compute/server.js';
import { RequestQueue } from './http/request-queue.js';
import { createReader } from './server-reader.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Returns a server without an address. So only its port shows its interface. */
const serverOf = (id: string): Server => ({
  ...{ id, name: id, description: null, metadata: {}, tags: [], imageId: null, fault: null, volumeIds: [], macs: [] },
  flavor: { name: 'm1', vcpus: 1, ramMiB: 64, diskGiB: 1, ephemeralGiB: 0, swapMiB: 0, secureBoot: undefined },
  ...{ task: null, vmState: 'active', powerState: 1 },
});

/** Opens a reader of a cloud whose Neutron answers after `neutronMs`. Like a session, runs six requests at once. */
function open(neutronMs: number) {
  const asked: string[] = [];
  const queue = new RequestQueue({ running: 6, waiting: 1000 });
  const ports: readonly Port[] = [{ mac: 'fa:16:3e:00:00:01', network: 'n', isActive: true }];
  const api = {
    getServer: (id: string) => Promise.resolve(serverOf(id)),
    listServers: () => Promise.reject(new Error('these tests list no servers')),
    listPorts: (id: string): Promise<readonly Port[]> =>
      queue.run('reading ports', performance.now() + 60_000, () => {
        asked.push(id);
        return new Promise((resolve) => setTimeout(resolve, neutronMs, ports));
      }),
  };
  const list = new ServerList(api, { filter: {}, timeoutMs: 60_000 });
  const reader = createReader({ api, list, freshMs: -1 });
  /** Numbers of interfaces, in the order of the answers. */
  const seen: (number | undefined)[] = [];
  /** Reads the interfaces of servers, each one in a turn of its own. */
  const read = async (...indexes: readonly number[]): Promise<void> => {
    for (const index of indexes) {
      void reader
        .read(idOf(index), { wantsPorts: true })
        .then((found) => seen.push(found?.snapshot.interfaces?.length));
      await jest.advanceTimersByTimeAsync(1);
    }
  };
  return { asked, list, read, seen };
}

const sixty = Array.from({ length: 60 }, (_, index) => index + 1);

describe('a reader of ports', () => {
  it('gets the ports of 60 servers from a slow Neutron, although most requests wait in the queue', async () => {
    const { asked, read, seen } = open(800);
    await read(...sixty);
    await jest.advanceTimersByTimeAsync(9000);
    expect(seen).toEqual(sixty.map(() => 1));
    expect(asked).toHaveLength(60);
    await read(61);
    await jest.advanceTimersByTimeAsync(900);
    expect(seen).toHaveLength(61);
    expect(seen.at(-1)).toBe(1);
  });

  it('stores ports that arrive too late for a read, and the next read shows them', async () => {
    const { asked, list, read, seen } = open(6000);
    await read(1);
    await jest.advanceTimersByTimeAsync(5100);
    expect(seen).toEqual([0]);
    // The second read shares the request of the first one, and does not wait for it again.
    await read(1);
    expect([seen, asked.length]).toEqual([[0, 0], 1]);
    await jest.advanceTimersByTimeAsync(1000);
    expect(list.find(idOf(1))?.snapshot.interfaces).toHaveLength(1);
    await read(1);
    expect([seen, asked.length]).toEqual([[0, 0, 1], 1]);
  });

  it('does not wait while Neutron is silent, and requests the ports again as soon as Neutron answers', async () => {
    const { asked, read, seen } = open(30_000);
    await read(...sixty);
    await jest.advanceTimersByTimeAsync(5100);
    expect(seen).toEqual(sixty.map(() => 0));
    await read(61);
    expect(seen).toHaveLength(61);
    await jest.advanceTimersByTimeAsync(24_000);
    // Nova got only the first six requests. The others waited in the queue until their reads had ended.
    expect(asked).toEqual(sixty.slice(0, 6).map(idOf));
    await jest.advanceTimersByTimeAsync(2000);
    await read(61);
    expect(asked.at(-1)).toBe(idOf(61));
  });

  it('sends no request that has waited in the queue for 20 s', async () => {
    const { asked, read, seen } = open(4900);
    await read(...sixty);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(seen).toHaveLength(60);
    expect(asked).toHaveLength(30);
  });
});
