import { Duplex } from 'node:stream';

/**
 * One libvirt stream as a Duplex: writing sends data, `end()` finishes and waits for libvirtd's confirmation, reading
 * receives, `destroy()` or `abort()` gives up. Errors of libvirtd come as `error` events.
 */
export abstract class LibvirtStream extends Duplex {
  /** Tells libvirtd to throw the stream away, then destroys it. */
  abstract abort(reason?: Error): void;
}
