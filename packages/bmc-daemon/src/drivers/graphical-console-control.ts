/**
 * Graphical consoles that a web proxy of the hypervisor shows, such as Nova's noVNC proxy. A driver
 * without such consoles has no `graphicalConsole`. A machine without such a console has no
 * `hasGraphicalConsole` in its snapshot.
 */

/** Access to a console. */
export interface GraphicalConsoleAccess {
  /** The URL of the console. Contains a secret that expires, so it must not be logged. */
  readonly url: string;
  /** The protocol, such as `vnc` or `spice`. */
  readonly protocol: string;
  /** The type of the console, such as `novnc` or `spice-html5`. */
  readonly type: string;
}

/** Graphical consoles. An id is a UUID or a name. If the method fails, it rejects with a {@link DriverError}. */
export interface GraphicalConsoleControl {
  /**
   * Creates access to the console of a machine, for one client.
   * @throws {DriverError} conflict: the state of the machine does not allow it; unsupported: the
   *   hypervisor has no such consoles; notFound; unavailable.
   */
  open(id: string): Promise<GraphicalConsoleAccess>;
}
