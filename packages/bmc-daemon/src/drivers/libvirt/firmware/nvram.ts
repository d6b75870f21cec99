/**
 * Recreates the UEFI variables of a machine while it is off, and keeps the variables that the
 * installed system has written, such as its boot entries. libvirt reads and writes the file as a
 * volume, because the account of this daemon may have no access to it.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { ConnectListAllStoragePoolsFlags, isLibvirtError, type Hypervisor, type StoragePool } from '@rackless/libvirt';
import { readDefinition, saveRecord, type Definition } from '../machine/definition.js';
import type { FirmwareKnowledge } from '../firmware-catalogue.js';
import { variablesOf } from '../xml/os/firmware.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { hasSavedState } from '../machine/saved-state.js';
import { readDomain } from '../xml/domain.js';
import { encodeText } from '../xml/escape.js';
import { withVariablesMade } from '../machine/boot-edit.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { withVariablesOf } from './variable-store.js';

/** Dependencies of {@link Variables}. */
interface VariablesOptions {
  readonly host: Host;
  /** Connection URI, for example `qemu:///system`. */
  readonly uri: string;
  readonly knowledge: () => Promise<FirmwareKnowledge>;
}

/** Maximum size of a variable store. Usual stores have half a MiB. */
const maxStoreBytes = 64 * 1024 * 1024;

/** Prefix of the pools that exist only while variables are read and written. */
const POOL_PREFIX = 'rackless-variables-';

/** UEFI variables of the machines of one host. */
export class Variables {
  readonly #options: VariablesOptions;

  constructor(options: VariablesOptions) {
    this.#options = options;
  }

  /**
   * Recreates the variables of a machine at once after a change of its definition, because the host
   * may start the machine itself. For a running or saved machine, the next start over Redfish does
   * this. Never rejects.
   */
  async recreateNow(machine: Machine): Promise<void> {
    const { queue, hypervisor, timeoutMs } = this.#options.host;
    const recreateIfNeeded = async (): Promise<void> => {
      const { xml, instance } = await readDefinition(machine, timeoutMs);
      const record = readMetadata(xml);
      if (instance !== null || !record.resetNvram || (await hasSavedState(machine, timeoutMs))) return;
      if (!(await this.recreate(machine, xml))) return;
      await saveRecord(hypervisor, machine, xml, withVariablesMade(record), timeoutMs);
    };
    // The next start retries.
    await queue.edit(machine.uuid, recreateIfNeeded).catch((error: unknown) => {
      this.#options.host.log.debug(`the UEFI variables of machine ${machine.name} wait for its start`, { error });
    });
  }

  /**
   * Finishes a change of firmware that an earlier daemon has begun. A client that reverts the
   * change must not find the new variables with the old firmware. Repetition is safe: the first
   * message of an upload contains the whole store (256 KiB less 24 bytes), so a store is either old
   * or new.
   */
  async reconcile(machine: Machine, { xml }: Definition): Promise<void> {
    if (readMetadata(xml).resetNvram) await this.recreateNow(machine);
  }

  /**
   * Recreates the variables of a machine with their old entries, if its record says that the
   * variables do not fit the firmware. Never rejects.
   * @returns false if no entries were kept: libvirt then creates the variables from their template.
   */
  async recreate(machine: Machine, xml: string): Promise<boolean> {
    const { log } = this.#options.host;
    try {
      return await this.#recreate(xml);
    } catch (error) {
      log.warn(`the UEFI variables of machine ${machine.name} are reset, without the boot entries of its system`, {
        error,
      });
      return false;
    }
  }

  /** Removes the pools that an ended daemon left. @throws {LibvirtError} */
  async removeLeftoverPools(): Promise<void> {
    const { hypervisor, timeoutMs } = this.#options.host;
    for (const pool of await hypervisor.listAllStoragePools(ConnectListAllStoragePoolsFlags.ACTIVE, { timeoutMs })) {
      if (pool.name.startsWith(POOL_PREFIX)) await pool.destroy({ timeoutMs });
    }
  }

  async #recreate(xml: string): Promise<boolean> {
    const { host, knowledge } = this.#options;
    const { hypervisor, timeoutMs } = host;
    const domain = readDomain(xml);
    const record = readMetadata(xml);
    // Unknown former variables: the machine never had UEFI. An older machine of this name may have
    // left a file.
    if (!record.resetNvram || (record.settings?.variables ?? null) === null) return false;
    if (variablesOf(domain.os, domain.firmware) === null) return false;
    const template = (await knowledge()).templateFor(domain.os);
    if (template === null) throw new Error('the template of the new variables is unknown');
    const path = domain.os.nvram?.path ?? join(variablesDirectory(this.#options.uri), `${domain.name}_VARS.fd`);
    const fresh = await readFile(template);
    return await withDirectory(hypervisor, dirname(path), timeoutMs, async (pool) => {
      const volume = await pool.storageVolLookupByName(basename(path), { timeoutMs });
      const { capacityBytes } = await volume.getInfo({ timeoutMs });
      if (capacityBytes > maxStoreBytes) throw new Error(`${path} is not a variable store`);
      const merged = withVariablesOf(fresh, await buffer(await volume.download({}, { timeoutMs })));
      if (merged === null) throw new Error(`${path} and ${template} have different layouts`);
      await pipeline(Readable.from([merged]), await volume.upload({}, { timeoutMs }));
      return true;
    });
  }
}

/**
 * Returns the folder of libvirt for variables without a path in the definition
 * (qemuDomainNVRAMPathFormat).
 */
function variablesDirectory(uri: string): string {
  if (!/^[^:]+:\/\/\/session\b/.test(uri)) return '/var/lib/libvirt/qemu/nvram';
  const { XDG_CONFIG_HOME: config } = process.env;
  return join(config === undefined || config === '' ? join(homedir(), '.config') : config, 'libvirt/qemu/nvram');
}

/** Opens a directory of the host as a pool: an existing pool, or a temporary one. */
async function withDirectory<Result>(
  hypervisor: Hypervisor,
  directory: string,
  timeoutMs: number,
  use: (pool: StoragePool) => Promise<Result>,
): Promise<Result> {
  const present = await hypervisor.storagePoolLookupByTargetPath(directory, { timeoutMs }).catch((error: unknown) => {
    if (isLibvirtError(error, 'NO_STORAGE_POOL')) return null;
    throw error;
  });
  if (present !== null) {
    await present.refresh({ timeoutMs });
    return await use(present);
  }
  const target = `<target><path>${encodeText(directory)}</path></target>`;
  const xml = `<pool type='dir'><name>${POOL_PREFIX}${randomUUID()}</name>${target}</pool>`;
  const temporary = await hypervisor.storagePoolCreateXml(xml, 0, { timeoutMs });
  try {
    return await use(temporary);
  } finally {
    // Ends the transient pool. The directory stays.
    await temporary.destroy({ timeoutMs });
  }
}
