/**
 * Reads the VNC server of a domain.
 * @see https://libvirt.org/formatdomain.html#graphical-framebuffers
 */
import { attribute, child, childElements, type XmlElement } from '../tree.js';

/** The VNC server of a domain. */
export interface VncDisplay {
  /** Path of its socket; null: it listens at `address` and `port`, or nowhere. */
  readonly socket: string | null;
  /** The address at which it listens, such as `127.0.0.1` or `::`; null: none. */
  readonly address: string | null;
  /**
   * Null in a definition that leaves the choice of the port to libvirt, and if the server does not listen at
   * a port.
   */
  readonly port: number | null;
  /** Only in XML with secrets. */
  readonly password: string | null;
}

/** Returns the first VNC server, or null. */
export function readVncDisplay(devices: XmlElement | undefined): VncDisplay | null {
  const graphics = childElements(devices, 'graphics').find((element) => attribute(element, 'type') === 'vnc');
  if (graphics === undefined) return null;
  const listen = child(graphics, 'listen');
  const port = Number(attribute(graphics, 'port') ?? -1);
  return {
    socket: attribute(listen, 'socket') ?? attribute(graphics, 'socket'),
    address: attribute(listen, 'address') ?? attribute(graphics, 'listen'),
    port: port > 0 ? port : null,
    password: attribute(graphics, 'passwd'),
  };
}
