/**
 * Tests whether guests run with KVM. libvirt's capabilities only report that the host offers KVM. If the
 * host is itself a virtual machine, a guest with KVM may hang after its start, or be much slower than an
 * emulated one.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DomainConsoleFlags,
  DomainCreateFlags,
  isLibvirtError,
  type Domain,
  type Hypervisor,
  type LibvirtStream,
} from '@rackless/libvirt';
import { driverError } from '../../failure.js';
import { element, markupLines } from '../../xml/markup.js';
import { removeLogs } from '../logs.js';

/** Time that the guest with KVM may need in addition to the emulated one, in milliseconds. */
const ALLOWANCE_MS = 3_000;
/** Time limit of the test, for a host on which even the emulated guest hangs. */
const TIMEOUT_MS = 60_000;

/**
 * Starts two transient guests without disks, one with KVM and one emulated. Returns whether the BIOS of the
 * guest with KVM finishes first, or at most 3 seconds after that of the emulated guest.
 * @throws {DriverError} if the guest with KVM does not finish in time, and the emulated guest does not start.
 */
export async function runsWithKvm(hypervisor: Hypervisor, timeoutMs: number): Promise<boolean> {
  const stop = new AbortController();
  const options = { stop: AbortSignal.any([stop.signal, AbortSignal.timeout(TIMEOUT_MS)]), timeoutMs };
  const [kvm, emulated] = (['kvm', 'qemu'] as const).map((type) => boots(hypervisor, type, options));
  // On a host that starts only guests with KVM, a failure of the emulated guest must not end the wait.
  const ended = Promise.resolve(emulated).catch(() => false);
  const tooLate = ended.then(() => sleep(ALLOWANCE_MS, false, { signal: stop.signal }));
  try {
    if (await Promise.race([kvm, tooLate])) return true;
    // Rejects if the emulated guest did not start either: this is no fault of KVM.
    await emulated;
    return false;
  } finally {
    stop.abort();
    await Promise.allSettled([kvm, emulated, tooLate]);
  }
}

interface BootOptions {
  /** Ends the guest. */
  readonly stop: AbortSignal;
  readonly timeoutMs: number;
}

/**
 * Returns whether the BIOS of a guest prints that there is no disk; false for a guest with KVM that
 * does not start.
 * @throws {DriverError} if an emulated guest does not start, because then no guest starts.
 */
async function boots(hypervisor: Hypervisor, type: 'kvm' | 'qemu', { stop, timeoutMs }: BootOptions): Promise<boolean> {
  const name = `rackless-kvm-test-${randomBytes(4).toString('hex')}`;
  let guest: Domain | undefined;
  try {
    // libvirtd stops the guest if this process ends. The guest is paused, so that it prints nothing yet.
    const flags = DomainCreateFlags.START_AUTODESTROY | DomainCreateFlags.START_PAUSED;
    guest = await hypervisor.domainCreateXml(guestXml(name, type), flags, { timeoutMs });
    // A running daemon opens the serial port of each new machine, and may be first. FORCE disconnects it.
    const output = await guest.openConsole(null, DomainConsoleFlags.FORCE, { timeoutMs });
    try {
      const printed = prints(output, /No bootable device/, stop);
      await guest.resume({ timeoutMs });
      return await printed;
    } finally {
      output.destroy();
    }
  } catch (error) {
    if (type === 'kvm' && isLibvirtError(error)) return false;
    throw driverError('starting an emulated guest to test the host', error);
  } finally {
    await guest?.destroy({ timeoutMs }).catch(() => undefined);
    if (guest !== undefined) await removeLogs(hypervisor, timeoutMs, name);
  }
}

/** Returns whether a serial port prints a text before the signal or the end of its guest. Never rejects. */
async function prints(stream: LibvirtStream, text: RegExp, stop: AbortSignal): Promise<boolean> {
  const end = (): unknown => stream.destroy();
  stop.addEventListener('abort', end);
  let output = '';
  try {
    if (stop.aborted) return false;
    for await (const chunk of stream) {
      output += String(chunk);
      if (text.test(output)) return true;
    }
    return false;
  } catch {
    // The signal has ended the stream, or QEMU has ended.
    return false;
  } finally {
    stop.removeEventListener('abort', end);
  }
}

/** Returns a guest whose BIOS prints to the serial port. */
function guestXml(name: string, type: 'kvm' | 'qemu'): string {
  const root = element('domain', { type }, [
    element('name', {}, name),
    element('memory', { unit: 'MiB' }, 64),
    element('vcpu', {}, 1),
    element('os', {}, [
      element('type', { arch: 'x86_64', machine: 'q35' }, 'hvm'),
      element('bios', { useserial: 'yes' }),
    ]),
    element('features', {}, [element('acpi')]),
    element('devices', {}, [
      element('controller', { type: 'usb', model: 'none' }),
      element('serial', { type: 'pty' }),
      element('memballoon', { model: 'none' }),
    ]),
  ]);
  return markupLines(root).join('\n');
}
