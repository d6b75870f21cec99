/**
 * The variables of a machine that is off, when they have to be made anew: what the installed system has written there, its boot
 * entries above all, is carried over. The file is read and written by libvirt, as a volume, for it belongs to the host and not to
 * whoever runs this daemon.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { ConnectListAllStoragePoolsFlags, isLibvirtError, type Hypervisor, type StoragePool } from '@rackless/libvirt';
import { readDefinition, saveRecord, type Definition } from './definition.js';
import type { FirmwareKnowledge } from './firmware-catalogue.js';
import { variablesOf } from './xml/firmware.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';
import { hasSavedState } from './saved-state.js';
import { readDomain } from './xml/domain.js';
import { encodeText } from './xml/parse.js';
import { withVariablesMade } from './boot-edit.js';
import { readMetadata } from './xml/metadata.js';
import { withVariablesOf } from './variable-store.js';

/** What UEFI variables are carried over by. */
export interface VariablesOptions {
  readonly host: Host;
  /** Connection URI, `qemu:///system`. */
  readonly uri: string;
  readonly knowledge: () => Promise<FirmwareKnowledge>;
}

/** A store is half a MiB; more is no store. */
const longestStore = 64 * 1024 * 1024;

/** Pools of ours that are there while variables are read and written. */
const POOL_PREFIX = 'rackless-variables-';

/** UEFI variables of the machines of one host. */
export class Variables {
  readonly #options: VariablesOptions;

  constructor(options: VariablesOptions) {
    this.#options = options;
  }

  /**
   * After a change of a definition: makes the variables of a machine that is off anew at once, for whoever starts it next, be it the
   * host by itself. Of one that runs, or is saved, the next start over Redfish does it. Never rejects.
   */
  async carryNow(machine: Machine): Promise<void> {
    const { edits, hypervisor, timeoutMs } = this.#options.host;
    const carry = async (): Promise<void> => {
      const { xml, instance } = await readDefinition(machine, timeoutMs);
      const record = readMetadata(xml);
      if (instance !== null || !record.resetNvram || (await hasSavedState(machine, timeoutMs))) return;
      if (!(await this.carryOver(machine, xml))) return;
      await saveRecord(hypervisor, machine, xml, withVariablesMade(record), timeoutMs);
    };
    // What is not done now is done at the start.
    await edits.run(machine.uuid, carry).catch((error: unknown) => {
      this.#options.host.log.debug(`the UEFI variables of machine ${machine.name} wait for its start`, { error });
    });
  }

  /**
   * Finishes a change of firmware that an earlier daemon has begun. A client that takes the change back must not find the new
   * variables beneath the old firmware. Repeating is safe: the first message of an upload carries the whole store (256 KiB less
   * 24 bytes), so a store is the old one or the new one.
   */
  async reconcile(machine: Machine, { xml }: Definition): Promise<void> {
    if (readMetadata(xml).resetNvram) await this.carryNow(machine);
  }

  /**
   * Makes the variables of a machine anew and puts the old ones back in, where its definition says that they are the wrong ones.
   * @returns whether that is done; else they have to be made anew by libvirt, and what was in them is lost. Never rejects.
   */
  async carryOver(machine: Machine, xml: string): Promise<boolean> {
    const { log } = this.#options.host;
    try {
      return await this.#carryOver(xml);
    } catch (error) {
      log.warn(`the UEFI variables of machine ${machine.name} are made anew, with no boot entries of its system`, {
        error,
      });
      return false;
    }
  }

  /** Removes the pools that a daemon which ended in between has left. @throws {LibvirtError} */
  async removeLeftPools(): Promise<void> {
    const { hypervisor, timeoutMs } = this.#options.host;
    for (const pool of await hypervisor.listAllStoragePools(ConnectListAllStoragePoolsFlags.ACTIVE, { timeoutMs })) {
      if (pool.name.startsWith(POOL_PREFIX)) await pool.destroy({ timeoutMs });
    }
  }

  async #carryOver(xml: string): Promise<boolean> {
    const { host, knowledge } = this.#options;
    const { hypervisor, timeoutMs } = host;
    const domain = readDomain(xml);
    const record = readMetadata(xml);
    // Made of nothing that is known: a machine that has never had UEFI, whose name an older one may have had.
    if (!record.resetNvram || (record.settings?.variables ?? null) === null) return false;
    if (variablesOf(domain.os, domain.firmware) === null) return false;
    const template = (await knowledge()).templateFor(domain.os);
    if (template === null) throw new Error('the master copy of the new ones is not known');
    const path = domain.os.nvram?.path ?? join(variablesDirectory(this.#options.uri), `${domain.name}_VARS.fd`);
    const fresh = await readFile(template);
    return await withDirectory(hypervisor, dirname(path), timeoutMs, async (pool) => {
      const volume = await pool.storageVolLookupByName(basename(path), { timeoutMs });
      const { capacityBytes } = await volume.getInfo({ timeoutMs });
      if (capacityBytes > longestStore) throw new Error(`${path} is no store of variables`);
      const merged = withVariablesOf(fresh, await buffer(await volume.download({}, { timeoutMs })));
      if (merged === null) throw new Error(`${path} and ${template} are not laid out alike`);
      await pipeline(Readable.from([merged]), await volume.upload({}, { timeoutMs }));
      return true;
    });
  }
}

/** Where libvirt keeps variables that a definition gives no place (qemuDomainNVRAMPathFormat). */
function variablesDirectory(uri: string): string {
  if (!/^[^:]+:\/\/\/session\b/.test(uri)) return '/var/lib/libvirt/qemu/nvram';
  const { XDG_CONFIG_HOME: config } = process.env;
  return join(config === undefined || config === '' ? join(homedir(), '.config') : config, 'libvirt/qemu/nvram');
}

/** Uses a directory of the host as a pool: one that is there, or one for the time being. */
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
  const xml = `<pool type='dir'><name>${POOL_PREFIX}${randomUUID()}</name><target><path>${encodeText(directory)}</path></target></pool>`;
  const own = await hypervisor.storagePoolCreateXml(xml, 0, { timeoutMs });
  try {
    return await use(own);
  } finally {
    // Ends the pool, which was never defined; the directory stays as it is.
    await own.destroy({ timeoutMs });
  }
}
