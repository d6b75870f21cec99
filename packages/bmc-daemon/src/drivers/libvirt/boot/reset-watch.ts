/**
 * Detects when the firmware has used the boot order after a reset. After each reset, SeaBIOS resets the machine
 * once or twice more: within 100 ms on an idle host, later on a busy host. QEMU reads the order at each
 * reset. So if the daemon removed the order after the first reset, it would be missing at the
 * later ones. Firmware that reads its boot drive has passed all these resets.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainState, type Domain, type DomainInfo } from '@rackless/libvirt';
import { isDriverError } from '../../driver-error.js';
import { attempt } from '../failure.js';
import { readInstance } from '../machine/definition.js';
import type { Host } from '../machine/host.js';
import type { Instance } from '../machine/instance.js';
import type { Machine } from '../machine/inventory.js';
import type { Armed } from '../machine/process-record.js';

/** Time between two queries of the counters. */
const POLL_MS = 250;
/** Wait without a drive to watch: for a network boot, or if QEMU does not count reads. */
const BLIND_MS = 3_000;
/**
 * For a QEMU that has just started, this wait also lasts until QEMU has used this CPU time. QEMU itself
 * needs 0.2 s of this time for its initialization.
 */
const BLIND_CPU_NS = 1_500_000_000n;
/** Time limit for a firmware that never reads the drive, for example because the image was ejected. */
const LATEST_MS = 30_000;
/**
 * Replaces {@link LATEST_MS} if the drive was read between the setting of the order and the reset event. This limit
 * is shorter, because the firmware may already have used the order.
 */
const LATEST_IF_READ_MS = 10_000;

/** Returns the number of reads of a drive; null if libvirt does not report it. */
export async function readsOf(domain: Domain, drive: string, timeoutMs: number): Promise<number | null> {
  try {
    return (await domain.blockStats(drive, { timeoutMs })).rdReq;
  } catch {
    // The machine is gone, hangs, or has no counters.
    return null;
  }
}

/**
 * Waits after a reset until the firmware has used its boot order, the machine stops, or a time limit ends.
 * @param evidence the record from the time when the order was set.
 * @throws the signal's AbortError.
 */
export async function waitUntilOrderIsUsed(
  domain: Domain,
  evidence: Armed['evidence'],
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<void> {
  // The timers do not keep this process alive, because a restarted daemon continues the wait.
  const options = { signal, ref: false };
  const begin = performance.now();
  const first = evidence === null ? null : await readsOf(domain, evidence.drive, timeoutMs);
  if (evidence === null || first === null) {
    await sleep(BLIND_MS, undefined, options);
    return;
  }
  const latest = first === evidence.reads ? LATEST_MS : LATEST_IF_READ_MS;
  while (performance.now() - begin < latest) {
    await sleep(POLL_MS, undefined, options);
    if ((await readsOf(domain, evidence.drive, timeoutMs)) !== first) return;
  }
}

/**
 * Resets a guest that has just started, as soon as its firmware runs. Does nothing if the guest stops before, or if the
 * signal aborts. Waits without an edit in the queue, because other changes of the machine must not wait for the
 * firmware.
 * @param options.isWanted whether the guest still needs the reset.
 * @throws {DriverError} notFound; unavailable, if libvirt does not answer after the wait; conflict, if the guest stops
 *   at this moment.
 */
export async function resetWhenFirmwareRuns(
  { queue, timeoutMs }: Pick<Host, 'queue' | 'timeoutMs'>,
  machine: Machine,
  { id, domain }: Instance,
  { isWanted, signal }: { readonly isWanted: () => boolean; readonly signal: AbortSignal },
): Promise<void> {
  const drives = domain.devices.disks.map(({ target }) => target);
  if (!(await waitForFirmware(machine.domain, drives, { timeoutMs, signal }))) return;
  await queue.edit(machine.uuid, async () => {
    if (!isWanted() || (await readInstance(machine, timeoutMs))?.id !== id) return;
    await attempt(`resetting machine ${machine.name}`, () => machine.domain.reset({ timeoutMs }));
  });
}

/**
 * Waits after a start until the firmware reads a drive, or until a time limit. SeaBIOS hangs
 * permanently if it is reset in its first moments (seen on QEMU 7.2). Once it looks for a boot
 * device, a reset is safe. If the firmware reads no drive (network boot), the CPU time of QEMU shows the
 * progress of the firmware, which a busy host delays.
 * @param drives target names of all drives that the firmware may read.
 * @returns false if the machine has stopped, or if the signal has aborted.
 * @throws {DriverError} notFound.
 */
async function waitForFirmware(
  domain: Domain,
  drives: readonly string[],
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<boolean> {
  const begin = performance.now();
  while (performance.now() - begin < LATEST_MS && !signal.aborted) {
    for (const drive of drives) if (((await readsOf(domain, drive, timeoutMs)) ?? 0) > 0) return !signal.aborted;
    const info = await readInfo(domain, timeoutMs);
    if (info?.state === DomainState.SHUTOFF) return false;
    if (performance.now() - begin > BLIND_MS && (info?.cpuTimeNs ?? 0n) > BLIND_CPU_NS) break;
    await sleep(POLL_MS, undefined, { ref: false });
  }
  return !signal.aborted;
}

/** Reads the state of a machine; null if libvirt does not answer in time. @throws {DriverError} notFound. */
async function readInfo(domain: Domain, timeoutMs: number): Promise<DomainInfo | null> {
  try {
    return await attempt(`reading the state of machine ${domain.name}`, () => domain.getInfo({ timeoutMs }));
  } catch (error) {
    if (isDriverError(error, 'unavailable')) return null;
    throw error;
  }
}
