import type { Domain } from './xml/domain.js';

/** A machine while it runs: one QEMU process. */
export interface Instance {
  /** libvirt's number of it. */
  readonly id: number;
  /** What it runs with. */
  readonly xml: string;
  readonly domain: Domain;
}
