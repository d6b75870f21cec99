import { expect, it } from '@jest/globals';
import type { Hypervisor } from '@rackless/libvirt';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { emptyRecord } from '../xml/metadata/machine-record.js';
import { recordMarkup } from '../xml/metadata/metadata.js';
import { listMachines } from './list.js';

/** Returns a domain that `bmc-daemon machine create` has created. Its UUID ends with the number of its name. */
function ownDomain(name: string, isActive: () => Promise<boolean>) {
  const uuid = `3c5f8d5e-4f4b-4c39-9a0e-00000000000${name.at(-1) ?? ''}`;
  const created = { uuid, group: 'node', complete: true, volumes: [], serialLog: null, clonedFrom: null };
  const metadata = recordMarkup({ ...emptyRecord, created });
  const xml = `<domain><name>${name}</name><uuid>${uuid}</uuid><metadata>${metadata}</metadata><devices/></domain>`;
  return { name, uuid, getXmlDesc: () => Promise.resolve(xml), isActive };
}

/** Returns a host whose machines are the given domains. */
function hostOf(domains: readonly ReturnType<typeof ownDomain>[]) {
  const hypervisor = { listAllDomains: (flags: number) => Promise.resolve(flags === 0 ? domains : []) };
  // The code under test calls only listAllDomains.
  return { hypervisor: hypervisor as unknown as Hypervisor, timeoutMs: 1000 };
}

const running = ownDomain('node-1', () => Promise.resolve(true));

it('listMachines lists the other machines if a client deletes one after the definitions were read', async () => {
  const deleted = ownDomain('node-2', () => Promise.reject(libvirtError('NO_DOMAIN', 'no domain')));
  const listed = await listMachines(hostOf([running, deleted, ownDomain('node-3', () => Promise.resolve(false))]));
  expect(listed.map(({ name, state }) => [name, state])).toEqual([
    ['node-1', 'running'],
    ['node-3', 'off'],
  ]);
});

it('listMachines fails if the host does not answer', async () => {
  const silent = ownDomain('node-2', () => Promise.reject(libvirtError('CALL_TIMEOUT', 'no answer')));
  await expect(listMachines(hostOf([running, silent]))).rejects.toMatchObject({ kind: 'unavailable' });
});
