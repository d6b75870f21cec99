/** The name of the host's CPU, for machines that it is passed through to. */
import type { Hypervisor } from '@rackless/libvirt';
import { RevalidatingCache } from './revalidating-cache.js';
import { child, parseXml, textOf } from './xml/parse.js';

/** The first question makes libvirtd look at every QEMU that it has: behind the readers' backs, then. */
const WAIT_MS = 250;
/** Nobody changes it under a running host. */
const KEEP_MS = 3_600_000;

/** Asks the host once what its CPU is called. */
export class HostCpu {
  readonly #hypervisor: Hypervisor;
  readonly #kept = new RevalidatingCache<{ readonly model: string | null }>({
    waitMs: WAIT_MS,
    freshMs: KEEP_MS,
    staleMs: Infinity,
    // A libvirtd that looks at its QEMUs anew each time is not asked again while it still does.
    retryMs: 60_000,
  });

  constructor(hypervisor: Hypervisor) {
    this.#hypervisor = hypervisor;
  }

  /** libvirt's name of the model, `Skylake-Server-IBRS`; null: it has none for it; undefined: not known yet. */
  async model(): Promise<string | null | undefined> {
    return (await this.#kept.get('model', () => this.#ask()))?.model;
  }

  async #ask(): Promise<{ readonly model: string | null }> {
    const { root } = parseXml(await this.#hypervisor.getCapabilities());
    return { model: textOf(child(root, 'host', 'cpu', 'model')) };
  }
}
