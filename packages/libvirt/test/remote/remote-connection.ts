/** Checks for tests of each transport to another host. */
import { basename } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { expect } from '@jest/globals';
import { DomainEventType, type Hypervisor } from '../../src/index.js';
import { until } from '../fake/until.js';
import type { Relay } from '../harness/relay.js';

const TIMEOUT_MS = 240_000;
/** Long limits, because ssh and sshd start several processes for each connection. */
export const patient = { callTimeoutMs: TIMEOUT_MS, workTimeoutMs: TIMEOUT_MS, connectTimeoutMs: TIMEOUT_MS };

/** The limits of {@link patient}, with short pauses between attempts to connect. */
export const persistent = { ...patient, backoff: { firstMs: 10, maxMs: 100 } };

/** Suspends the domain `test`, expects the event, and resumes the domain. */
export async function expectEvent(hypervisor: Hypervisor): Promise<void> {
  const domain = await hypervisor.domainLookupByName('test');
  const events = hypervisor.events.iterate('lifecycle');
  await events.ready;
  await domain.suspend();
  expect((await events.next()).value).toMatchObject({ event: DomainEventType.SUSPENDED });
  await domain.resume();
}

/**
 * Creates a pool with a volume, uploads 5 MB, and expects the same bytes in a download.
 * @param folder the folder of the pool; it must exist.
 */
export async function expectStreams(hypervisor: Hypervisor, folder: string): Promise<void> {
  const pool = await hypervisor.storagePoolCreateXml(
    `<pool type='dir'><name>${basename(folder)}</name><target><path>${folder}</path></target></pool>`,
  );
  const bytes = Buffer.alloc(5_000_000, `libvirt at ${folder} `);
  const volume = await pool.storageVolCreateXml(
    `<volume><name>v</name><capacity>${bytes.length}</capacity><target><format type='raw'/></target></volume>`,
  );
  await pipeline(Readable.from([bytes]), await volume.upload());
  expect((await buffer(await volume.download())).equals(bytes)).toBe(true);
}

/**
 * Registers for events and cuts all connections of the relay. Expects that the client connects again, and then gets
 * an event without a new registration.
 * @param hypervisor is connected through the relay, with the options {@link persistent}.
 */
export async function expectReconnect(hypervisor: Hypervisor, relay: Relay, how: 'end' | 'reset'): Promise<void> {
  const domain = await hypervisor.domainLookupByName('test');
  const seen: number[] = [];
  await hypervisor.events.on('lifecycle', ({ event }) => seen.push(event)).ready;
  const states: string[] = [];
  hypervisor.onStateChange((state) => states.push(state));
  relay.cut(how);
  await until('the reconnect', () => states.join() === 'connecting,connected', TIMEOUT_MS);
  await domain.suspend();
  await until('the event', () => seen.includes(DomainEventType.SUSPENDED), TIMEOUT_MS);
  await domain.resume();
}

/** Stalls the relay, and expects that keepalive ends the connection. The relay then still stalls. */
export async function expectLoss(hypervisor: Hypervisor, relay: Relay): Promise<void> {
  const states: string[] = [];
  hypervisor.onStateChange((state) => states.push(state));
  relay.stall();
  await until('the loss of the connection', () => states.length > 0, TIMEOUT_MS);
  expect(String(hypervisor.lastError)).toContain('libvirtd has been silent for');
}
