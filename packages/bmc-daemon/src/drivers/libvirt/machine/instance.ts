import type { Domain } from '../xml/domain.js';

/** A running machine: one QEMU process. */
export interface Instance {
  /** The domain id of libvirt. */
  readonly id: number;
  /** XML of the running machine. */
  readonly xml: string;
  /** The parsed {@link xml}. */
  readonly domain: Domain;
}
