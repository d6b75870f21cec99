/**
 * VNC displays of machines (RFC 6143). A driver without displays has no `display`. A machine
 * without a display has no `hasGraphicalConsole` in its snapshot.
 */
import type { Duplex } from 'node:stream';

/** The VNC server of a running machine. */
export interface DisplayAccess {
  readonly machine: { readonly uuid: string; readonly name: string };
  /** The password of the VNC server; null: none. Must not be logged. */
  readonly password: string | null;
  /**
   * Name or address of the remote host. The certificate of the VNC server must be valid for this name
   * or address. Null: the server is on this host, or the connection goes through ssh.
   */
  readonly remoteHost: string | null;
  /**
   * Connects to the VNC server.
   * @returns the bytes of the protocol in both directions. The caller destroys the stream.
   * @throws {DriverError} unavailable, if the server cannot be reached.
   */
  connect(): Promise<Duplex>;
}

/** Displays. An id is a UUID or a name. If the method fails, it rejects with a {@link DriverError}. */
export interface DisplayControl {
  /**
   * Finds the VNC server of a machine, without connecting to it.
   * @throws {DriverError} conflict: the machine is off, or has no VNC server that this service can
   *   reach; notFound; unavailable: the hypervisor does not answer.
   */
  find(id: string): Promise<DisplayAccess>;
}
