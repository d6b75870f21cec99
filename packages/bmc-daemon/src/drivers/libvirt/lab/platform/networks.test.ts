import { describe, expect, it } from '@jest/globals';
import type { LabHost } from '../lab-host.js';
import { openLabPool } from '../lab-pool.js';
import { checkNetworks, type CheckedLink } from './networks.js';

/** A host without networks and storage pools. The functions under test use only these members. */
const hypervisor = { listAllNetworks: () => Promise.resolve([]), listAllStoragePools: () => Promise.resolve([]) };
const host = { hypervisor, timeoutMs: 1_000, uri: 'test:///default' } as unknown as LabHost;

describe('a host without networks and storage pools', () => {
  it('is reported with advice, and not with an empty list', async () => {
    const links: readonly CheckedLink[] = [{ type: 'network', name: 'default' }];
    await expect(checkNetworks(host, links, () => undefined)).rejects.toMatchObject({
      problems: ['the host has no network default; create it first'],
    });
    await expect(openLabPool(host, 'fast')).rejects.toMatchObject({
      problems: ['the host has no storage pool fast; create it first'],
    });
  });
});
