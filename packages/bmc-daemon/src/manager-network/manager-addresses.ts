/**
 * Sets the addresses of managers on the host's interfaces, restores lost addresses, and removes all
 * of them when the service ends.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isIPv4 } from 'node:net';
import type { Log } from '@rackless/daemon/log/log.js';
import {
  HostAddressError,
  type InterfaceAddress,
  type HostAddresses,
  type PresentAddress,
} from '../host/host-addresses.js';
import type { ConfiguredAddress } from './network-state.js';

/** Dependencies of {@link ManagerAddresses}. */
interface ManagerAddressesOptions {
  readonly host: HostAddresses;
  /**
   * Starts the service at an address.
   * @returns the function that stops it.
   * @throws if that fails.
   */
  readonly listenAt: (address: string) => Promise<() => void>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** The error if another host on the same link has the address. */
export class DuplicateAddressError extends Error {
  override readonly name = 'DuplicateAddressError';
}

/** An address that this service has set, or is setting. */
interface AssignedAddress {
  readonly uuid: string;
  readonly deviceAddress: InterfaceAddress;
  /** Undefined while the service does not listen at the address yet. */
  stopListening: (() => void) | undefined;
}

/**
 * Maximum wait for the kernel's duplicate address detection (IPv6), and the time between checks.
 */
const TENTATIVE_MS = 3_000;
const TENTATIVE_STEP_MS = 100;

/**
 * The addresses of managers. This class removes only addresses that it has set. Its methods must
 * not run concurrently.
 */
export class ManagerAddresses {
  readonly #host: HostAddresses;
  readonly #listenAt: ManagerAddressesOptions['listenAt'];
  readonly #log: ManagerAddressesOptions['log'];
  readonly #assigned = new Map<string, AssignedAddress>();
  /**
   * The last logged error of each address. The key '' is for errors when the list of addresses is
   * read. The same error is logged once.
   */
  readonly #failed = new Map<string, string>();

  constructor({ host, listenAt, log }: ManagerAddressesOptions) {
    this.#host = host;
    this.#listenAt = listenAt;
    this.#log = log;
  }

  /** Returns the number of addresses of all machines. */
  get size(): number {
    return this.#assigned.size;
  }

  /** Returns the UUID of the machine whose manager has an address; undefined if there is none. */
  machineAt(address: string): string | undefined {
    return this.#assigned.get(address)?.uuid;
  }

  /**
   * Sets an address and listens at it. After a failure, removes the address from the host.
   * @throws {HostAddressError} if the host rejects the address or loses it again.
   * @throws {DuplicateAddressError} if another host of the link has the address; only for IPv6.
   * @throws {Error} if the service cannot listen at the address.
   */
  async add(uuid: string, { address, device, bits }: ConfiguredAddress): Promise<void> {
    const deviceAddress = { address, device, prefix: bits };
    // Records the address first, so that even the first request at this address sees only this
    // machine.
    const assigned: AssignedAddress = { uuid, deviceAddress, stopListening: undefined };
    this.#assigned.set(address, assigned);
    try {
      await this.#host.add(deviceAddress);
      await this.#untilUsable(deviceAddress);
      assigned.stopListening = await this.#listenAt(address);
      this.#log.info(`${address} on ${device} is an address of a machine's manager`, { machine: uuid });
    } catch (error) {
      await this.#release(address);
      throw error;
    }
  }

  /** Removes an address. Logs a failure. */
  async remove(address: string): Promise<void> {
    await this.#release(address);
    this.#failed.delete(address);
  }

  /**
   * Sets missing addresses, for example after a start, and takes over addresses that a killed
   * service has left. Logs a failure, and never rejects.
   */
  async restore(wanted: readonly (ConfiguredAddress & { readonly uuid: string })[]): Promise<void> {
    if (wanted.length === 0) return;
    let present: readonly PresentAddress[];
    try {
      present = await this.#host.list();
    } catch (error) {
      this.#warnOnce('', 'reading the addresses of the host failed', error);
      return;
    }
    for (const own of wanted) await this.#restoreOne(own, present);
  }

  /** Removes all addresses from the host. The stored settings do not change. */
  async close(): Promise<void> {
    for (const address of [...this.#assigned.keys()]) await this.remove(address);
  }

  async #release(address: string): Promise<void> {
    const assigned = this.#assigned.get(address);
    if (assigned === undefined) return;
    assigned.stopListening?.();
    try {
      await this.#host.remove(assigned.deviceAddress);
    } catch (error) {
      // Without a listener, `add` failed, and its caller reports that error.
      if (assigned.stopListening !== undefined)
        this.#log.warn(`removing ${address} from ${assigned.deviceAddress.device} failed`, { error });
    }
    this.#assigned.delete(address);
  }

  async #restoreOne(
    own: ConfiguredAddress & { readonly uuid: string },
    present: readonly PresentAddress[],
  ): Promise<void> {
    const { address, device, bits, uuid } = own;
    const found = present.filter((one) => one.address === address);
    const conflicting = found.find((one) => one.device !== device || one.prefix !== bits);
    const isListening = this.#assigned.get(address)?.stopListening !== undefined;
    if (conflicting === undefined && found.length > 0 && isListening) return;
    try {
      if (conflicting !== undefined) {
        // The host itself has set the address on another device or with another prefix. Removes only the
        // address that this service has set.
        await this.#release(address);
        throw new Error(`the host has it now, on ${conflicting.device}`);
      }
      const assigned = this.#assigned.get(address);
      assigned?.stopListening?.();
      await this.add(uuid, own);
      this.#failed.delete(address);
    } catch (error) {
      this.#warnOnce(address, `restoring the manager address ${address} on ${device} failed`, error);
    }
  }

  #warnOnce(address: string, text: string, error: unknown): void {
    const reason = String(error);
    if (this.#failed.get(address) === reason) return;
    this.#failed.set(address, reason);
    this.#log.warn(text, { error });
  }

  /**
   * Waits, for a limited time, until the kernel has found no duplicate of an IPv6 address.
   * @throws {DuplicateAddressError} if another host has the address; {HostAddressError} if the address disappeared.
   */
  async #untilUsable({ address }: InterfaceAddress): Promise<void> {
    if (isIPv4(address)) return;
    for (let waited = 0; waited < TENTATIVE_MS; waited += TENTATIVE_STEP_MS) {
      const found = (await this.#host.list()).find((one) => one.address === address);
      if (found === undefined) throw new HostAddressError('failed', `adding ${address}: it disappeared`);
      if (found.state === 'duplicate') throw new DuplicateAddressError(`another host of the link has ${address}`);
      if (found.state === 'usable') return;
      await delay(TENTATIVE_STEP_MS);
    }
    // Without a carrier, the detection ends later. Listening fails until then.
  }
}
