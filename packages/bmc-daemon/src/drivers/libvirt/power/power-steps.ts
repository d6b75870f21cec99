/** The libvirt calls of the steps of power actions. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  DomainRebootFlags,
  DomainShutdownFlags,
  NodeSuspendTarget,
  isLibvirtError,
  type Domain,
} from '@rackless/libvirt';
import { DriverError } from '../../driver-error.js';
import type { PowerStep } from '../../power.js';
import { attempt, driverError } from '../failure.js';
import { DESTROY_TIMEOUT_MS, type Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { NotSwitchedOffError } from './pending-starts.js';

/** Steps that need only calls of libvirt, and no state of the driver. */
type SimpleStep = Extract<
  PowerStep,
  'destroy' | 'resume' | 'suspend' | 'pmSuspend' | 'pmWakeup' | 'shutdown' | 'injectNmi'
>;

/** Runs one step of a power action. @throws {DriverError} */
export async function runStep(machine: Machine, step: SimpleStep, timeoutMs: number): Promise<void> {
  const { domain, name } = machine;
  switch (step) {
    case 'destroy':
      await destroy(machine, timeoutMs);
      return;
    case 'resume':
      await attempt(`resuming machine ${name}`, () => domain.resume({ timeoutMs }));
      return;
    case 'suspend':
      await attempt(`pausing machine ${name}`, () => domain.suspend({ timeoutMs }));
      return;
    case 'pmSuspend':
      await attempt(`suspending machine ${name}`, () => suspendToDisk(domain, timeoutMs));
      return;
    case 'pmWakeup':
      await attempt(`waking machine ${name} up`, () => domain.pmWakeup({ timeoutMs }));
      return;
    case 'shutdown':
      await attempt(`shutting machine ${name} down`, () => pressButton(domain, timeoutMs));
      return;
    case 'injectNmi':
      await attempt(`sending an NMI to machine ${name}`, () => domain.injectNmi({ timeoutMs }));
      return;
  }
}

/**
 * Suspends the guest to its disk.
 * @throws {DriverError} conflict, if no guest agent answers, because a retry would fail too.
 * @throws {LibvirtError} for every other failure.
 */
async function suspendToDisk(domain: Domain, timeoutMs: number): Promise<void> {
  try {
    await domain.pmSuspendForDuration(NodeSuspendTarget.DISK, { timeoutMs });
  } catch (error) {
    if (!isLibvirtError(error, 'AGENT_UNRESPONSIVE')) throw error;
    throw new DriverError('conflict', `suspending machine ${domain.name}: its guest agent does not answer`, {
      cause: error,
    });
  }
}

/** Asks the guest to shut down, by its ACPI power button. @throws {LibvirtError} */
export async function pressButton(domain: Domain, timeoutMs: number): Promise<void> {
  try {
    await domain.shutdownFlags(DomainShutdownFlags.ACPI_POWER_BTN, { timeoutMs });
  } catch (error) {
    // libvirt's test driver accepts no flag.
    if (!isLibvirtError(error, 'INVALID_ARG', 'ARGUMENT_UNSUPPORTED')) throw error;
    await domain.shutdown({ timeoutMs });
  }
}

/**
 * Asks the guest to shut down. After the shutdown, libvirt resets its QEMU instead of ending it.
 * @throws {LibvirtError}
 */
export async function reboot(domain: Domain, timeoutMs: number): Promise<void> {
  try {
    await domain.reboot(DomainRebootFlags.ACPI_POWER_BTN, { timeoutMs });
  } catch (error) {
    // libvirt's test driver accepts no flag.
    if (!isLibvirtError(error, 'INVALID_ARG', 'ARGUMENT_UNSUPPORTED')) throw error;
    await domain.reboot(0, { timeoutMs });
  }
}

/**
 * Switches the machine off. Ignores a machine that is already off. A transient machine is gone
 * afterwards.
 * @throws {DriverError}
 */
async function destroy(machine: Machine, timeoutMs: number): Promise<void> {
  await attempt(`switching machine ${machine.name} off`, async () => {
    try {
      await machine.domain.destroy({ timeoutMs: DESTROY_TIMEOUT_MS });
    } catch (error) {
      if (isLibvirtError(error, 'OPERATION_INVALID') && !(await isActive(machine, timeoutMs))) return;
      throw error;
    }
  });
}

/**
 * Maximum time in which a QEMU that obeys SIGTERM ends, in milliseconds.
 * libvirt kills a hung QEMU after 10 s or more.
 */
const OBEYS_SIGTERM_MS = 5_000;
/** How long libvirtd may need to notice the end of a QEMU that hung, in milliseconds. */
const END_OF_HUNG_QEMU_MS = 2_000;

/**
 * Switches the machine off, before a start. libvirt 9.0 handles the end of a hung QEMU in the background. Then it
 * would also end a new QEMU that starts in the meantime. So this function waits after such an end.
 * @param options hangs: whether the QEMU is known to hang. Otherwise, the duration of its end shows this.
 * @throws {DriverError} as {@link destroy}.
 */
export async function destroyBeforeStart(
  machine: Machine,
  timeoutMs: number,
  { hangs }: { readonly hangs: boolean },
): Promise<void> {
  const began = performance.now();
  await destroy(machine, timeoutMs);
  if (hangs || performance.now() - began > OBEYS_SIGTERM_MS) await delay(END_OF_HUNG_QEMU_MS);
}

/**
 * Switches off a machine whose start completed after a client had switched it off.
 * @throws {NotSwitchedOffError} if this fails.
 */
export async function destroyStarted(
  machine: Machine,
  { log, timeoutMs }: Pick<Host, 'log' | 'timeoutMs'>,
): Promise<void> {
  try {
    await destroy(machine, timeoutMs);
  } catch (error) {
    log.warn(`machine ${machine.name} still runs, though a client switched it off while it started`, { error });
    const { kind, message } = driverError(`switching machine ${machine.name} off`, error);
    throw new NotSwitchedOffError(kind, message, { cause: error });
  }
}

/** Returns whether the machine runs; false if it does not exist. @throws {LibvirtError} */
export async function isActive({ domain }: Machine, timeoutMs: number): Promise<boolean> {
  try {
    return await domain.isActive({ timeoutMs });
  } catch (error) {
    if (isLibvirtError(error, 'NO_DOMAIN')) return false;
    throw error;
  }
}
