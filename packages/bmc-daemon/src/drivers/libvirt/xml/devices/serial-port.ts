/**
 * Reads the serial port that the daemon opens: the first one that libvirt offers as a stream.
 * @see https://libvirt.org/formatdomain.html#consoles-serial-parallel-channel-devices
 */
import { attribute, child, childElements, type XmlElement } from '../tree.js';

/**
 * Types of a character device that libvirt offers as a stream. Other types send their data elsewhere (to a
 * file, to a TCP socket), so libvirt offers no stream.
 */
const CONNECTABLE: ReadonlySet<string | null> = new Set(['pty', 'unix']);

/**
 * A serial port of a domain.
 * @see https://libvirt.org/formatdomain.html#serial-port
 */
export interface SerialPort {
  /** Alias, `serial0`; null in a definition without an alias of the user. */
  readonly alias: string | null;
}

/**
 * Returns the first port with a stream, or null. Serial ports precede consoles, because firmware does not
 * support virtio consoles. libvirt repeats the first serial port as a console with the same alias, so it does
 * not matter which of them is found.
 */
export function readSerialPort(devices: XmlElement | undefined): SerialPort | null {
  const ports = [...childElements(devices, 'serial'), ...childElements(devices, 'console')];
  const port = ports.find((element) => CONNECTABLE.has(attribute(element, 'type')));
  return port === undefined ? null : { alias: attribute(child(port, 'alias'), 'name') };
}
