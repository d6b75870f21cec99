/**
 * Reads and writes the definition of a machine. virDomainDefineXML also writes the metadata in the
 * definition, and works even while the QEMU of the machine hangs. virDomainSetMetadata waits for
 * QEMU (measured), but only this call writes the metadata of a running instance.
 */
import { DomainMetadataType, DomainModificationImpact, DomainXmlFlags } from '@rackless/libvirt';
import { isDriverError } from '../../driver-error.js';
import { attempt } from '../failure.js';
import type { Host } from './host.js';
import type { Instance } from './instance.js';
import type { Machine } from './inventory.js';
import { PROCESS_PREFIX, PROCESS_URI, renderProcess, type ProcessRecord } from './process-record.js';
import { savedXml } from './saved-state.js';
import { edited, type DefinitionEdit } from '../xml/definition-edit.js';
import { readDomain, readInstanceId } from '../xml/domain.js';
import { METADATA_PREFIX, METADATA_URI, readMetadata, renderMetadata } from '../xml/metadata/metadata.js';
import type { MachineRecord } from '../xml/metadata/machine-record.js';

/** The definition and the running instance of a machine, read by two concurrent calls. */
export interface Definition {
  /**
   * The persistent definition with passwords; for a transient machine, the definition of its
   * instance.
   */
  readonly xml: string;
  /** Null when the machine is off. */
  readonly instance: Instance | null;
}

/** The parts of a host that a write needs. */
type Writing = Pick<Host, 'hypervisor' | 'timeoutMs'>;

/** Reads both XML texts of a machine. @throws {DriverError} notFound, unavailable. */
export async function readDefinition({ name, domain }: Machine, timeoutMs: number): Promise<Definition> {
  return await attempt(`reading the definition of machine ${name}`, async () => {
    const [xml, current] = await Promise.all([
      domain.getXmlDesc(DomainXmlFlags.INACTIVE | DomainXmlFlags.SECURE, { timeoutMs }),
      domain.getXmlDesc(0, { timeoutMs }),
    ]);
    return { xml, instance: instanceOf(current) };
  });
}

/**
 * Parses the XML that libvirt returns without the flag INACTIVE. Returns null if the machine is
 * off.
 * @throws {DriverError} internal, if the XML is not a domain.
 */
export function instanceOf(xml: string): Instance | null {
  const id = readInstanceId(xml);
  return id === null ? null : { id, xml, domain: readDomain(xml) };
}

/**
 * Reads a machine for a change: one read if it is off, two if it runs.
 * @throws {DriverError} notFound, unavailable.
 */
export async function readForChange(
  { inventory, timeoutMs }: Pick<Host, 'inventory' | 'timeoutMs'>,
  machine: Machine,
): Promise<Definition> {
  if ((await inventory.state(machine)) !== 'shutoff') return await readDefinition(machine, timeoutMs);
  return { xml: await readInactiveXml(machine, timeoutMs), instance: null };
}

/** Reads only the running instance; null if the machine is off. @throws {DriverError} notFound, unavailable. */
export async function readInstance({ name, domain }: Machine, timeoutMs: number): Promise<Instance | null> {
  return await attempt(`reading machine ${name}`, async () => instanceOf(await domain.getXmlDesc(0, { timeoutMs })));
}

/**
 * Reads only the definition, which libvirt returns sooner than the running instance while QEMU
 * hangs.
 * @returns the definition with passwords; for a transient machine, the definition of its instance.
 * @throws {DriverError} notFound, unavailable.
 */
export async function readInactiveXml({ name, domain }: Machine, timeoutMs: number): Promise<string> {
  return await attempt(`reading the definition of machine ${name}`, () =>
    domain.getXmlDesc(DomainXmlFlags.INACTIVE | DomainXmlFlags.SECURE, { timeoutMs }),
  );
}

/**
 * Changes a definition: one read, one edit, one define. The caller has begun an edit in the queue.
 * @throws {DriverError} what the edit throws; notFound, unavailable; failed, if libvirt rejects the
 *   new definition.
 */
export async function editDefinition(
  host: Writing,
  machine: Machine,
  edit: (definition: DefinitionEdit) => void,
): Promise<void> {
  const from = await readInactiveXml(machine, host.timeoutMs);
  await saveDefinition(host, machine, { from, to: edited(from, edit) });
}

/** Changes only the record of this daemon, as {@link editDefinition}. */
export async function editRecord(
  host: Writing,
  machine: Machine,
  edit: (record: MachineRecord) => MachineRecord,
): Promise<void> {
  await editDefinition(host, machine, (definition) => definition.editRecord(edit));
}

/**
 * Removes finished operations from the record. Never rejects. If it fails, the daemon removes them
 * after its next start. The caller has begun an edit in the queue.
 */
export async function forgetDone(
  host: Pick<Host, 'hypervisor' | 'timeoutMs' | 'log'>,
  machine: Machine,
  edit: (record: MachineRecord) => MachineRecord,
): Promise<void> {
  await editRecord(host, machine, edit).catch((error: unknown) => {
    host.log.warn(`removing a complete operation from the record of machine ${machine.name} failed`, { error });
  });
}

/**
 * Returns every XML text that can name a resource of the machine: its definition, and its running
 * instance or its saved state.
 * @returns an empty list for a deleted machine.
 * @throws {DriverError} unavailable.
 */
export async function machineTexts(machine: Machine, timeoutMs: number): Promise<readonly string[]> {
  try {
    const xml = await readInactiveXml(machine, timeoutMs);
    // Reads the state after the definition. A machine that is off now can only start from this
    // definition or from its saved state.
    const runs = await attempt(`reading the state of machine ${machine.name}`, () =>
      machine.domain.isActive({ timeoutMs }),
    );
    const instance = runs ? await readInstance(machine, timeoutMs) : null;
    const other = instance === null ? await savedXml(machine, timeoutMs) : instance.xml;
    return other === null ? [xml] : [xml, other];
  } catch (error) {
    if (isDriverError(error, 'notFound')) return [];
    throw error;
  }
}

/**
 * Writes the definition if it has changed. For a transient machine, writes only the record, to the
 * running instance.
 * @throws {DriverError} notFound, unavailable; failed, if libvirt rejects the new definition.
 */
export async function saveDefinition(
  { hypervisor, timeoutMs }: Writing,
  machine: Machine,
  change: { readonly from: string; readonly to: string },
): Promise<void> {
  if (change.from === change.to) return;
  await attempt(`changing the definition of machine ${machine.name}`, async () => {
    if (machine.persistent) {
      await hypervisor.domainDefineXml(change.to, 0, { timeoutMs });
      return;
    }
    await machine.domain.setMetadata(
      DomainMetadataType.ELEMENT,
      renderMetadata(readMetadata(change.to)),
      METADATA_PREFIX,
      METADATA_URI,
      DomainModificationImpact.LIVE,
      { timeoutMs },
    );
  });
}

/** Writes another record into a definition. @param xml the current definition. @throws {DriverError} */
export async function saveRecord(host: Writing, machine: Machine, xml: string, record: MachineRecord): Promise<void> {
  const to = edited(xml, (edit) => edit.setRecord(record));
  await saveDefinition(host, machine, { from: xml, to });
}

/**
 * Stores the boot order of the QEMU process in the metadata of the running instance.
 * @throws {DriverError} conflict, if a newer version of the daemon has stored it in a newer format;
 *   notFound, unavailable.
 */
export async function saveProcess(
  machine: Machine,
  instance: Instance,
  record: Omit<ProcessRecord, 'instance'>,
  timeoutMs: number,
): Promise<void> {
  const markup = renderProcess(instance, record);
  await attempt(`storing the boot order of machine ${machine.name}`, () =>
    machine.domain.setMetadata(
      DomainMetadataType.ELEMENT,
      markup,
      PROCESS_PREFIX,
      PROCESS_URI,
      DomainModificationImpact.LIVE,
      { timeoutMs },
    ),
  );
}
