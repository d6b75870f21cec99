/**
 * One machine's definition, read to be changed and put back. Definitions are changed by `define` alone, metadata included: it
 * answers even while the machine's QEMU hangs, where virDomainSetMetadata waits (measured).
 */
import { DomainMetadataType, DomainModificationImpact, DomainXmlFlags, type Hypervisor } from '@rackless/libvirt';
import { DriverError } from '../driver.js';
import { attempt } from './failure.js';
import type { Host } from './host.js';
import type { Instance } from './instance.js';
import type { Machine } from './inventory.js';
import { PROCESS_PREFIX, PROCESS_URI, renderProcess, type ProcessRecord } from './process-record.js';
import { savedXml } from './saved-state.js';
import { readDomain, readInstanceId } from './xml/domain.js';
import {
  METADATA_PREFIX,
  METADATA_URI,
  readMetadata,
  renderMetadata,
  withMetadata,
  withRecord,
  type MachineRecord,
} from './xml/metadata.js';

/** What a machine is and what it will be, read at the same moment. */
export interface Definition {
  /** What the machine starts with next, passwords included; of a transient machine, what it runs with. */
  readonly xml: string;
  /** Null when the machine is off. */
  readonly instance: Instance | null;
}

/** @throws {DriverError} notFound, unavailable. */
export async function readDefinition({ name, domain }: Machine, timeoutMs: number): Promise<Definition> {
  return await attempt(`reading the definition of machine ${name}`, async () => {
    const [xml, present] = await Promise.all([
      domain.getXmlDesc(DomainXmlFlags.INACTIVE | DomainXmlFlags.SECURE, { timeoutMs }),
      domain.getXmlDesc(0, { timeoutMs }),
    ]);
    const id = readInstanceId(present);
    return { xml, instance: id === null ? null : { id, xml: present, domain: readDomain(present) } };
  });
}

/**
 * Reads the definition alone, which libvirt answers sooner than the running instance while QEMU hangs.
 * @returns the definition, passwords included; what a transient machine runs with.
 * @throws {DriverError} notFound, unavailable.
 */
export async function readInactiveXml({ name, domain }: Machine, timeoutMs: number): Promise<string> {
  return await attempt(`reading the definition of machine ${name}`, () =>
    domain.getXmlDesc(DomainXmlFlags.INACTIVE | DomainXmlFlags.SECURE, { timeoutMs }),
  );
}

/**
 * Changes a definition: one read, one edit, one define. The caller holds the machine's turn in `edits`.
 * @throws {DriverError} what the edit throws; notFound, unavailable.
 */
export async function editDefinition(
  { hypervisor, timeoutMs }: Pick<Host, 'hypervisor' | 'timeoutMs'>,
  machine: Machine,
  edit: (xml: string) => string,
): Promise<void> {
  const from = await readInactiveXml(machine, timeoutMs);
  await saveDefinition(hypervisor, machine, { from, to: edit(from) }, timeoutMs);
}

/** Changes nothing but our record, in the same way. */
export async function editRecord(
  host: Pick<Host, 'hypervisor' | 'timeoutMs'>,
  machine: Machine,
  edit: (record: MachineRecord) => MachineRecord,
): Promise<void> {
  await editDefinition(host, machine, (xml) => withRecord(xml, edit));
}

/**
 * Removes the names of operations that are done. Never rejects: the operations are done, and the next daemon removes the names.
 * The caller holds the machine's turn in `edits`.
 */
export async function forgetDone(
  host: Pick<Host, 'hypervisor' | 'timeoutMs' | 'log'>,
  machine: Machine,
  edit: (record: MachineRecord) => MachineRecord,
): Promise<void> {
  await editRecord(host, machine, edit).catch((error: unknown) => {
    host.log.warn(`the record of machine ${machine.name} still names an operation that is done`, { error });
  });
}

/**
 * Every text that names what a machine needs: its definition, its running instance, and the state that it would go on from.
 * @returns none of a machine that is gone: it needs nothing.
 * @throws {DriverError} unavailable: what it needs is not known.
 */
export async function machineTexts(machine: Machine, timeoutMs: number): Promise<readonly string[]> {
  try {
    const { xml, instance } = await readDefinition(machine, timeoutMs);
    const other = instance === null ? await savedXml(machine, timeoutMs) : instance.xml;
    return other === null ? [xml] : [xml, other];
  } catch (error) {
    if (error instanceof DriverError && error.kind === 'notFound') return [];
    throw error;
  }
}

/**
 * Puts a changed definition back; nothing where nothing changed. Of a transient machine, which has none, the record is kept with
 * the running instance.
 */
export async function saveDefinition(
  hypervisor: Hypervisor,
  machine: Machine,
  change: { readonly from: string; readonly to: string },
  timeoutMs: number,
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

/** Changes nothing but our record. */
export async function saveRecord(
  hypervisor: Hypervisor,
  machine: Machine,
  xml: string,
  record: MachineRecord,
  timeoutMs: number,
): Promise<void> {
  await saveDefinition(hypervisor, machine, { from: xml, to: withMetadata(xml, record) }, timeoutMs);
}

/** Keeps with the running instance what its process has been told. */
export async function saveProcess(machine: Machine, record: ProcessRecord, timeoutMs: number): Promise<void> {
  await attempt(`keeping the boot order of machine ${machine.name}`, () =>
    machine.domain.setMetadata(
      DomainMetadataType.ELEMENT,
      renderProcess(record),
      PROCESS_PREFIX,
      PROCESS_URI,
      DomainModificationImpact.LIVE,
      { timeoutMs },
    ),
  );
}
