/** The port of a machine that `virsh console` would connect to. @see https://libvirt.org/formatdomain.html#consoles-serial-parallel-channel-devices */
import { attribute, child, childElements, type XmlElement } from './parse.js';

/** Ends of a character device that libvirt hands out as a stream; any other has its data elsewhere (a file, a TCP socket). */
const CONNECTABLE: ReadonlySet<string | null> = new Set(['pty', 'unix']);

export interface SerialPort {
  /** libvirt's name of it, `serial0`; null in a definition, which has none. */
  readonly alias: string | null;
}

/**
 * Serial ports go before consoles, for firmware knows no virtio console; libvirt repeats the first serial port as a console, with
 * the same alias.
 * @returns the first one that can be connected to; null where there is none.
 */
export function readSerialPort(devices: XmlElement | undefined): SerialPort | null {
  const ports = [...childElements(devices, 'serial'), ...childElements(devices, 'console')];
  const port = ports.find((element) => CONNECTABLE.has(attribute(element, 'type')));
  return port === undefined ? null : { alias: attribute(child(port, 'alias'), 'name') };
}
