/** The options of connections and of their calls. */
import type { CallOptions } from './caller.js';
import type { Clock } from './clock.js';
import type { LibvirtError } from './errors.js';
import type { KeepaliveOptions } from './keepalive.js';
import type { Header } from './protocol/message.js';
import type { OpenTransport } from './transport/transport.js';
import type { XdrReader } from './xdr.js';

/** Options of `Connection.call`. */
export interface SubmitOptions extends CallOptions {
  /**
   * Called once when the call no longer counts for libvirtd's limit of five unanswered calls per
   * client: when libvirtd answers (perhaps after the timeout), when the connection ends, or when the
   * call cannot be sent.
   */
  readonly onFinished?: () => void;
}

/** Options of a `Connection`. */
export interface ConnectionOptions {
  /** Name in error messages, such as `qemu:///system`. */
  readonly label: string;
  readonly open: OpenTransport;
  readonly clock: Clock;
  /** Default timeout of a call in milliseconds. */
  readonly callTimeoutMs: number;
  readonly keepalive: KeepaliveOptions;
  /** Called with each event message, in the order in which events and replies arrive. */
  readonly onEvent?: (header: Header, body: XdrReader) => void;
  /**
   * Called once when the connection ends, after it has rejected all calls and streams. `error` is
   * the reason.
   */
  readonly onClosed?: (error: LibvirtError) => void;
}
