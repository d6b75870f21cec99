/** The mark of machines that `bmc-daemon machine` has created. */

/** A volume of a storage pool. */
export interface CreatedVolume {
  readonly pool: string;
  readonly volume: string;
}

/** Everything that the command has created for a machine, and therefore may delete. */
export interface CreatedRecord {
  /**
   * UUID of the machine. Other programs copy metadata with a definition: the copy has another UUID, and the
   * volumes are not its own.
   */
  readonly uuid: string;
  /** The name that `--count` numbers; null for a machine without a number. */
  readonly group: string | null;
  /** False while the command creates or deletes the machine. The next command completes the work. */
  readonly complete: boolean;
  /** The disks, in their order. */
  readonly volumes: readonly CreatedVolume[];
  /** File on the host with the output of the serial port; null: none. */
  readonly serialLog: string | null;
  /** UUID of the machine from which this one was cloned; null: none. */
  readonly clonedFrom: string | null;
}
