import type { LinkOptions } from './link.js';

/**
 * Defaults of a hypervisor, durations in milliseconds: `callTimeoutMs` 5,000 for what answers at once, `workTimeoutMs` 30,000
 * for what changes a machine, `connectTimeoutMs` 10,000 for one attempt, `keepalive` every 5,000 and 5 times, `backoff` from
 * 100 to 5,000. `onWarning` is told what goes wrong where nobody waits for it.
 */
export type HypervisorOptions = Pick<
  LinkOptions,
  'callTimeoutMs' | 'workTimeoutMs' | 'connectTimeoutMs' | 'keepalive' | 'backoff' | 'onWarning'
>;

/** As {@link HypervisorOptions}, for {@link Hypervisor.open}. */
export interface OpenOptions extends HypervisorOptions {
  /** Gives the opening up. */
  readonly signal?: AbortSignal;
}

/** What to ask the capabilities of; absent members are the host's default. */
export interface DomainCapabilitiesQuery {
  /** Path of the emulator, `/usr/bin/qemu-system-x86_64`. */
  readonly emulatorBinary?: string;
  /** `x86_64`, `aarch64`. */
  readonly arch?: string;
  /** `q35`, `pc-q35-7.2`. */
  readonly machine?: string;
  /** `kvm`, `qemu`. */
  readonly virtType?: string;
}
