/** The part of the metadata that `bmc-daemon machine` adds to machines that it creates. */

/** A volume of a storage pool. */
export interface CreatedVolume {
  readonly pool: string;
  readonly volume: string;
}

/** Everything that the command has created for a machine, and therefore may delete. */
export interface CreatedRecord {
  /**
   * UUID of the machine. If another program copies the definition, the copy contains this record,
   * but has another UUID. The volumes then belong to the original, not to the copy.
   */
  readonly uuid: string;
  /** The name without the number that `--count` adds; null for a machine without a number. */
  readonly group: string | null;
  /**
   * False while the command creates or deletes the machine. If the command ends too early, the next command for this
   * name removes what is left of the machine.
   */
  readonly complete: boolean;
  /** The disks, in their order. */
  readonly volumes: readonly CreatedVolume[];
  /** File on the host with the output of the serial port; null: none. */
  readonly serialLog: string | null;
  /** UUID of the machine from which this one was cloned; null: none. */
  readonly clonedFrom: string | null;
}
