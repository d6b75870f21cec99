/** The name of the host's CPU, for machines with CPU passthrough. */
import type { Hypervisor } from '@rackless/libvirt';
import { RevalidatingCache } from './revalidating-cache.js';
import { parseXml } from '../xml/parse.js';
import { child, textOf } from '../xml/tree.js';

/**
 * Maximum time that a reader waits. The first call makes libvirtd probe every QEMU binary, so it can take
 * longer. It then continues in the background.
 */
const WAIT_MS = 250;
/**
 * Time until the name is read again. It is long, because a running host does not change its CPU.
 */
const KEEP_MS = 3_600_000;

/** Reads the name of the host's CPU. */
export class HostCpu {
  readonly #hypervisor: Hypervisor;
  readonly #cache = new RevalidatingCache<{ readonly model: string | null }>({
    waitMs: WAIT_MS,
    freshMs: KEEP_MS,
    staleMs: Infinity,
    // libvirtd may still be probing its QEMU binaries, so there is a pause before the retry.
    retryMs: 60_000,
  });

  constructor(hypervisor: Hypervisor) {
    this.#hypervisor = hypervisor;
  }

  /**
   * Returns libvirt's name of the model, for example `Skylake-Server-IBRS`; null if libvirt has none;
   * undefined until libvirt has answered, and after a failed refresh.
   */
  async model(): Promise<string | null | undefined> {
    return (await this.#cache.get('model', () => this.#readModel()))?.model;
  }

  async #readModel(): Promise<{ readonly model: string | null }> {
    const { root } = parseXml(await this.#hypervisor.getCapabilities());
    return { model: textOf(child(root, 'host', 'cpu', 'model')) };
  }
}
