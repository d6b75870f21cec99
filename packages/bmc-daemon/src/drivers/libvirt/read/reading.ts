/** One reading of a machine: its XML, its state and its autostart. */
import { DomainXmlFlags, isLibvirtError } from '@rackless/libvirt';
import type { DomainState } from '../../snapshot/system-snapshot.js';
import type { MachineCondition, Machine } from '../machine/inventory.js';

/** The state and the XML of a machine, as libvirt reports them. */
export interface Reading {
  readonly state: DomainState;
  readonly failure: MachineCondition['failure'];
  readonly migrating: boolean;
  readonly persistent: boolean;
  /** Null for a transient machine, or if libvirt does not report it. */
  readonly autostart: boolean | null;
  readonly inactiveXml: string;
  /** False if `inactiveXml` lacks passwords, because libvirt's access control denies them. */
  readonly hasPasswords: boolean;
  readonly liveXml: string | null;
  /** True if images can be streamed into the drives of the machine. */
  readonly streams: boolean;
}

interface ReadingOptions {
  /** Maximum time of each call. */
  readonly timeoutMs: number;
  readonly streams: () => boolean;
}

/**
 * Returns the function that reads a machine of a host. The function reads the definition with
 * passwords, because a change needs them. If libvirt's access control denies this once, the function
 * reads the definitions of all machines without passwords from then on.
 */
export function machineReader(
  options: ReadingOptions,
): (machine: Machine, condition: MachineCondition) => Promise<Reading> {
  const { timeoutMs, streams } = options;
  let requestsPasswords = true;
  const readDefinition = async ({ domain }: Machine): Promise<Pick<Reading, 'inactiveXml' | 'hasPasswords'>> => {
    if (requestsPasswords) {
      try {
        const flags = DomainXmlFlags.INACTIVE | DomainXmlFlags.SECURE;
        return { inactiveXml: await domain.getXmlDesc(flags, { timeoutMs }), hasPasswords: true };
      } catch (error) {
        if (!isLibvirtError(error, 'ACCESS_DENIED', 'OPERATION_DENIED')) throw error;
        requestsPasswords = false;
      }
    }
    return { inactiveXml: await domain.getXmlDesc(DomainXmlFlags.INACTIVE, { timeoutMs }), hasPasswords: false };
  };
  return async (machine, condition) => {
    const { domain, persistent } = machine;
    const [definition, autostart, liveXml] = await Promise.all([
      readDefinition(machine),
      // libvirt sends no event about autostart, so each reading includes it.
      persistent ? domain.getAutostart({ timeoutMs }).catch(unknownAutostart) : null,
      condition.state === 'shutoff' ? null : domain.getXmlDesc(0, { timeoutMs }),
    ]);
    return { ...condition, persistent, autostart, ...definition, liveXml, streams: streams() };
  };
}

/**
 * Returns null if the error means that libvirt's driver has no autostart, or denies access to it.
 * @throws the error in any other case.
 */
function unknownAutostart(error: unknown): null {
  if (isLibvirtError(error, 'NO_SUPPORT', 'OPERATION_INVALID', 'ACCESS_DENIED', 'OPERATION_DENIED')) return null;
  throw error;
}

/**
 * Returns whether two readings give the same snapshot. `hasPasswords` does not count, because
 * snapshots show no passwords.
 */
export function sameReading(a: Reading, b: Reading): boolean {
  return (
    a.state === b.state &&
    a.failure === b.failure &&
    a.migrating === b.migrating &&
    a.persistent === b.persistent &&
    a.autostart === b.autostart &&
    a.inactiveXml === b.inactiveXml &&
    a.liveXml === b.liveXml &&
    a.streams === b.streams
  );
}
