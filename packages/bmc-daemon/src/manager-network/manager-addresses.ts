/** The addresses of managers on the host's interfaces: set when a machine gets one, put back when they are lost, gone with the service. */
import { setTimeout as delay } from 'node:timers/promises';
import { isIPv4 } from 'node:net';
import type { Log } from '@rackless/daemon/log.js';
import { HostAddressError, type DeviceAddress, type HostAddresses, type PresentAddress } from '../host-addresses.js';
import type { ManagerAddress } from './network-state.js';

export interface ManagerAddressesOptions {
  readonly host: HostAddresses;
  /** Has the service answer at an address. @returns what ends that. @throws where it can not. */
  readonly listenAt: (address: string) => Promise<() => void>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Another host of the link answers for an address. */
export class DuplicateAddressError extends Error {
  override readonly name = 'DuplicateAddressError';
}

interface Held {
  readonly uuid: string;
  readonly set: DeviceAddress;
  /** Undefined: it is set, and nobody listens there yet. */
  leave: (() => void) | undefined;
}

/** IPv6: until the kernel has asked its neighbours whether they have it. */
const TENTATIVE_MS = 3_000;
const TENTATIVE_STEP_MS = 100;

/** What it sets it removes; it never touches another address. Its methods are not to run at the same time. */
export class ManagerAddresses {
  readonly #host: HostAddresses;
  readonly #listenAt: ManagerAddressesOptions['listenAt'];
  readonly #log: ManagerAddressesOptions['log'];
  readonly #held = new Map<string, Held>();
  /** What went wrong when it was last tried, so that the log says so once. */
  readonly #failed = new Map<string, string>();

  constructor({ host, listenAt, log }: ManagerAddressesOptions) {
    this.#host = host;
    this.#listenAt = listenAt;
    this.#log = log;
  }

  /** How many addresses are set, of all machines. */
  get size(): number {
    return this.#held.size;
  }

  /** The machine whose address it is. */
  machineAt(address: string): string | undefined {
    return this.#held.get(address)?.uuid;
  }

  /**
   * Sets an address and listens there.
   * @throws {HostAddressError} where the host does not let us. @throws {DuplicateAddressError}
   * @throws {Error} where it can not be listened at; then it is not set either.
   */
  async add(uuid: string, { address, device, bits }: ManagerAddress): Promise<void> {
    const set = { address, device, prefix: bits };
    // From the first packet on it is the machine's: nobody is to see more there for a moment.
    const held: Held = { uuid, set, leave: undefined };
    this.#held.set(address, held);
    try {
      await this.#host.add(set);
      await this.#untilUsable(set);
      held.leave = await this.#listenAt(address);
      this.#log.info(`${address} on ${device} is an address of a machine's manager`, { machine: uuid });
    } catch (error) {
      await this.#release(address);
      throw error;
    }
  }

  /** Lets go of an address; where the host does not let us the log says so. */
  async remove(address: string): Promise<void> {
    await this.#release(address);
    this.#failed.delete(address);
  }

  /** Sets what is not there, as after a start, and takes over what a service that was killed has left. */
  async restore(wanted: readonly (ManagerAddress & { readonly uuid: string })[]): Promise<void> {
    if (wanted.length === 0) return;
    let present: readonly PresentAddress[];
    try {
      present = await this.#host.list();
    } catch (error) {
      this.#complain('', 'reading the addresses of the host failed', error);
      return;
    }
    for (const own of wanted) await this.#restoreOne(own, present);
  }

  /** Removes them all. The configuration is not forgotten by it. */
  async close(): Promise<void> {
    for (const address of [...this.#held.keys()]) await this.remove(address);
  }

  async #release(address: string): Promise<void> {
    const held = this.#held.get(address);
    if (held === undefined) return;
    held.leave?.();
    try {
      await this.#host.remove(held.set);
    } catch (error) {
      // That it could not be set has been said already.
      if (held.leave !== undefined) this.#log.warn(`removing ${address} from ${held.set.device} failed`, { error });
    }
    this.#held.delete(address);
  }

  async #restoreOne(
    own: ManagerAddress & { readonly uuid: string },
    present: readonly PresentAddress[],
  ): Promise<void> {
    const { address, device, bits, uuid } = own;
    const there = present.filter((one) => one.address === address);
    const hosts = there.find((one) => one.device !== device || one.prefix !== bits);
    if (hosts === undefined && there.length > 0 && this.#held.get(address)?.leave !== undefined) return;
    try {
      if (hosts !== undefined) {
        // Whoever asks there asks the host from now on. What is not as it was set is not taken away.
        await this.#release(address);
        throw new Error(`the host has it now, on ${hosts.device}`);
      }
      const held = this.#held.get(address);
      held?.leave?.();
      await this.add(uuid, own);
      this.#failed.delete(address);
    } catch (error) {
      this.#complain(address, `giving ${address} on ${device} back to a machine's manager failed`, error);
    }
  }

  #complain(address: string, what: string, error: unknown): void {
    const reason = String(error);
    if (this.#failed.get(address) === reason) return;
    this.#failed.set(address, reason);
    this.#log.warn(what, { error });
  }

  async #untilUsable({ address }: DeviceAddress): Promise<void> {
    if (isIPv4(address)) return;
    for (let waited = 0; waited < TENTATIVE_MS; waited += TENTATIVE_STEP_MS) {
      const found = (await this.#host.list()).find((one) => one.address === address);
      if (found === undefined) throw new HostAddressError('failed', `adding ${address}: it is gone again`);
      if (found.state === 'duplicate') throw new DuplicateAddressError(`another host of the link has ${address}`);
      if (found.state === 'usable') return;
      await delay(TENTATIVE_STEP_MS);
    }
    // Without a carrier the kernel asks later; it can be listened at then, and not now.
  }
}
