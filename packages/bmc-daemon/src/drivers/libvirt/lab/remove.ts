/** Removes machines of this command, with everything that it has created for them. */
import { DomainUndefineFlags } from '@rackless/libvirt';
import { attempt } from '../failure.js';
import { DESTROY_TIMEOUT_MS } from '../machine/host.js';
import { deleteVolume } from '../volumes/disk-volume.js';
import { edited } from '../xml/definition-edit.js';
import type { LabHost, OwnMachine } from './lab-host.js';
import { removeLogs } from './logs.js';
import { volumesOf } from './machine-volumes.js';

const { MANAGED_SAVE, SNAPSHOTS_METADATA, CHECKPOINTS_METADATA, NVRAM } = DomainUndefineFlags;

/**
 * Everything that libvirt stores for a machine. Without a flag, it also removes the state of the
 * TPM.
 */
export const UNDEFINE_FLAGS = MANAGED_SAVE | SNAPSHOTS_METADATA | CHECKPOINTS_METADATA | NVRAM;

/**
 * Removes a machine. If it is interrupted, the next command continues.
 * @returns what is left, one sentence each.
 * @throws {DriverError} conflict, unavailable.
 */
export async function removeMachine(host: LabHost, own: OwnMachine): Promise<readonly string[]> {
  const { hypervisor, timeoutMs } = host;
  const { machine, name, created, record, xml } = own;
  if (created.complete || !machine.persistent) {
    const begun = edited(xml, (edit) => edit.setRecord({ ...record, created: { ...created, complete: false } }));
    // A machine that lost its definition gets it back: at power-off, the record of its volumes would disappear.
    await attempt(`changing the definition of machine ${name}`, () =>
      hypervisor.domainDefineXml(begun, 0, { timeoutMs }),
    );
  }
  if (await attempt(`reading the state of machine ${name}`, () => machine.domain.isActive({ timeoutMs }))) {
    await attempt(`powering off machine ${name}`, () => machine.domain.destroy({ timeoutMs: DESTROY_TIMEOUT_MS }));
  }
  const { volumes, left } = await volumesOf(host, own);
  for (const volume of volumes) {
    await attempt(`deleting volume ${volume.name} in pool ${volume.pool}`, () => deleteVolume(volume));
  }
  const logs = created.serialLog === null ? [] : await removeLogs(hypervisor, timeoutMs, [name]);
  await attempt(`removing machine ${name}`, () => machine.domain.undefineFlags(UNDEFINE_FLAGS, { timeoutMs }));
  return [...left, ...logs];
}
