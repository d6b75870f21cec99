/**
 * When a reset has used its boot order. SeaBIOS resets the machine a second time (within 50 ms where the host is idle, in guest time
 * where it is not), and QEMU reads the order at each: one that is taken back at the first would be gone by the second. Once the
 * firmware reads the drive that it is to boot from, it is past all of that.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Domain } from '@rackless/libvirt';
import type { Armed } from './process-record.js';

const POLL_MS = 250;
/** Where there is no drive to watch: a network boot. */
const BLIND_MS = 3_000;
/** As above, for a QEMU that has just been started, in what it has computed by then: its own beginning takes 0.2 s of it. */
const BLIND_CPU_MS = 1_500;
/** Firmware that does not get to the drive at all, because the medium is gone. */
const LATEST_MS = 30_000;
/** As above, where the drive had been read since the order was told: the firmware may have been quicker than the event. */
const LATEST_IF_READ_MS = 10_000;

/** How often a drive has been read; null where QEMU does not say. */
export async function readsOf(domain: Domain, drive: string, timeoutMs: number): Promise<number | null> {
  try {
    return (await domain.blockStats(drive, { timeoutMs })).rdReq;
  } catch {
    // Gone, hanging, or without counters: whoever asks has to do without.
    return null;
  }
}

/**
 * Waits, from a reset on, until the firmware has used the order that it was told.
 * @param evidence what was recorded when it was told.
 * @throws the signal's AbortError.
 */
export async function orderIsUsed(
  domain: Domain,
  evidence: Armed['evidence'],
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<void> {
  // It does not keep the process alive: a daemon that ends meanwhile leaves the rest to the next one.
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
 * Waits, from a start on, until the firmware reads a drive. SeaBIOS that is reset in its first moments hangs for good (seen on
 * QEMU 7.2); once it looks for something to boot, a reset is safe. Where it reads none (a network boot), it has come that far by
 * the time that it has computed for a while: on a busy host that is long after it was started.
 * @param drives target names of all that it may read.
 */
export async function firmwareIsUp(domain: Domain, drives: readonly string[], timeoutMs: number): Promise<void> {
  const begin = performance.now();
  while (performance.now() - begin < LATEST_MS) {
    for (const drive of drives) if (((await readsOf(domain, drive, timeoutMs)) ?? 0) > 0) return;
    if (performance.now() - begin > BLIND_MS && (await cpuTimeMs(domain, timeoutMs)) > BLIND_CPU_MS) return;
    await sleep(POLL_MS, undefined, { ref: false });
  }
}

/** How long the machine's QEMU has computed since it was started; infinite where libvirt does not say. */
async function cpuTimeMs(domain: Domain, timeoutMs: number): Promise<number> {
  try {
    return Number((await domain.getInfo({ timeoutMs })).cpuTimeNs / 1_000_000n);
  } catch {
    // Gone, or hanging: there is nothing to wait for.
    return Infinity;
  }
}
