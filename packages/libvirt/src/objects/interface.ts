import type { CallOptions, Link } from '../link/link.js';
import { interfaceProcedures } from '../protocol/interface.js';
import type { InterfaceRef } from '../protocol/object.js';

/**
 * A network interface of the host. The object is a value, so there is nothing to close. If the
 * interface no longer exists, methods reject with `NO_INTERFACE`. Methods have the names of
 * libvirt's functions without `virInterface`.
 * @see https://libvirt.org/html/libvirt-libvirt-interface.html
 */
export class Interface implements InterfaceRef {
  readonly #link: Link;
  /** For example `eth0`. */
  readonly name: string;
  readonly mac: string;

  constructor(link: Link, { name, mac }: InterfaceRef) {
    this.#link = link;
    this.name = name;
    this.mac = mac;
  }

  /**
   * Returns the XML. `<link>` contains the state and the speed in Mb/s if the host knows them.
   * @param flags `InterfaceXmlFlags`.
   */
  getXmlDesc(flags = 0, options?: CallOptions): Promise<string> {
    const { name, mac } = this;
    return this.#link.call(interfaceProcedures.getXmlDesc, { interface: { name, mac }, flags }, options);
  }
}
