import type { LinkOptions } from '../link/link.js';

/**
 * Options of a hypervisor connection. Durations are in milliseconds. Defaults:
 *
 * - `callTimeoutMs`: 5,000, for fast reads, the XML of a domain, and the opening of a stream.
 * - `workTimeoutMs`: 30,000, for changes, and other reads that wait for QEMU.
 * - `connectTimeoutMs`: 10,000, for one attempt.
 * - `keepalive`: a PING after each 5,000 of silence, and a loss after 5 unanswered PINGs.
 * - `backoff`: from 100 to 5,000.
 *
 * `onWarning` receives errors that no caller waits for.
 */
export type HypervisorOptions = Pick<
  LinkOptions,
  'callTimeoutMs' | 'workTimeoutMs' | 'connectTimeoutMs' | 'keepalive' | 'backoff' | 'onWarning'
>;

/** Options of {@link Hypervisor.open}. */
export interface OpenOptions extends HypervisorOptions {
  /** Aborts the opening. */
  readonly signal?: AbortSignal;
}

/** Selects a type of domain. Absent properties mean the default of the host. */
export interface DomainCapabilitiesQuery {
  /** Path of the emulator, for example `/usr/bin/qemu-system-x86_64`. */
  readonly emulatorBinary?: string;
  /** Architecture, such as `x86_64` or `aarch64`. */
  readonly arch?: string;
  /** Machine type, such as `q35` or `pc-q35-7.2`. */
  readonly machine?: string;
  /** Virtualization type, such as `kvm` or `qemu`. */
  readonly virtType?: string;
}
