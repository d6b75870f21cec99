import type { CallOptions, Link } from './link.js';
import { interfaceProcedures } from './protocol/interface.js';
import type { InterfaceRef } from './protocol/object.js';

/**
 * A network interface of the host: a value that names it, and methods that speak to its host. When it is gone, methods reject
 * with `NO_INTERFACE`. Methods are libvirt's functions without `virInterface`.
 * @see https://libvirt.org/html/libvirt-libvirt-interface.html
 */
export class Interface implements InterfaceRef {
  readonly #link: Link;
  /** `eth0`. */
  readonly name: string;
  readonly mac: string;

  constructor(link: Link, { name, mac }: InterfaceRef) {
    this.#link = link;
    this.name = name;
    this.mac = mac;
  }

  /** Where the host knows them, its state and its speed in Mb/s are in `<link>`. @param flags `InterfaceXmlFlags`. */
  getXmlDesc(flags = 0, options?: CallOptions): Promise<string> {
    const { name, mac } = this;
    return this.#link.call(interfaceProcedures.getXmlDesc, { interface: { name, mac }, flags }, options);
  }
}
