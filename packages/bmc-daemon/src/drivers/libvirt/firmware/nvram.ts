/**
 * Recreates the file of UEFI variables of a machine that is off. The new file has the unsigned variables that
 * the operating system has written, such as its boot entries. libvirt reads and writes the file as
 * a volume, because the account of this daemon may have no access to it.
 */
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { STREAM_CHUNK_BYTES } from '@rackless/libvirt';
import { readDefinition, saveRecord, type Definition } from '../machine/definition.js';
import type { FirmwareCatalog } from '../firmware-catalog.js';
import { variablesTemplateKey } from '../xml/os/firmware.js';
import { isOnThisHost, isSession } from '../connection-uri.js';
import { readVolume, withPoolOfDirectory } from '../host-files.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { hasSavedState } from '../machine/saved-state.js';
import { readDomain } from '../xml/domain.js';
import { withoutVariablesReset } from '../machine/boot-edit.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { mergeVariables } from './variable-store.js';

/** Dependencies of {@link Variables}. */
interface VariablesOptions {
  readonly host: Host;
  /** Connection URI, for example `qemu:///system`. */
  readonly uri: string;
  /** Returns the known facts about the firmware files of the host. */
  readonly catalog: () => Promise<FirmwareCatalog>;
}

/** UEFI variables of the machines of one host. */
export class Variables {
  readonly #options: VariablesOptions;

  constructor(options: VariablesOptions) {
    this.#options = options;
  }

  /**
   * Recreates the variables of a machine at once after a change of its definition, if its record requires
   * this. The reason: the host may start the machine itself. If the machine runs or is saved, does nothing.
   * `ColdStart` recreates the variables before the next start, also after a failure. Never rejects.
   */
  async recreateNow(machine: Machine): Promise<void> {
    const { host } = this.#options;
    const recreateIfNeeded = async (): Promise<void> => {
      const { xml, instance } = await readDefinition(machine, host.timeoutMs);
      const record = readMetadata(xml);
      if (instance !== null || !record.resetNvram || (await hasSavedState(machine, host.timeoutMs))) return;
      if (!(await this.#recreate(xml))) return;
      await saveRecord(host, machine, xml, withoutVariablesReset(record));
    };
    await host.queue.edit(machine.uuid, recreateIfNeeded).catch((error: unknown) => {
      host.log.warn(`recreating the UEFI variables of machine ${machine.name} failed: the next start retries`, {
        error,
      });
    });
  }

  /**
   * Completes a change of firmware that was in progress when the daemon ended. The daemon may have uploaded the new
   * variables without saving this in the record. If a client then reverted the change, the old firmware would
   * start with the new variables. Repeating the change is safe, even if
   * the daemon ended during its upload. The first message of an upload contains all variables, so the file
   * has either the old variables or the new ones. Never rejects.
   */
  async reconcile(machine: Machine, { xml }: Definition): Promise<void> {
    if (readMetadata(xml).resetNvram) await this.recreateNow(machine);
  }

  /**
   * Recreates the variables of a machine with their old entries just before its start, if its record says that the
   * variables do not fit the firmware. Never rejects.
   * @returns false if it recreated nothing. If the record requires new variables, `ColdStart` then lets libvirt create
   *   them from their template. After a failure, this loses the old entries, so the failure is logged.
   */
  async recreate(machine: Machine, xml: string): Promise<boolean> {
    const { log } = this.#options.host;
    try {
      return await this.#recreate(xml);
    } catch (error) {
      log.warn(`the UEFI variables of machine ${machine.name} are reset, and its boot entries are lost`, { error });
      return false;
    }
  }

  async #recreate(xml: string): Promise<boolean> {
    const { host, catalog } = this.#options;
    const { hypervisor, timeoutMs, files } = host;
    const domain = readDomain(xml);
    const record = readMetadata(xml);
    if (!record.resetNvram) return false;
    // The record names the template of the old variables. Without it, the machine has no variables,
    // because it never booted by UEFI. A file with its name then belongs to an older machine.
    if ((record.settings?.variables ?? null) === null) return false;
    if (variablesTemplateKey(domain.os, domain.firmware) === null) return false;
    const template = (await catalog()).templateOfDefinition(domain.os);
    if (template === null) throw new Error('the template of the new variables is unknown');
    const path = domain.os.nvram?.path ?? join(variablesDirectory(this.#options.uri), `${domain.name}_VARS.fd`);
    const templateBytes = await files.read(template);
    return await withPoolOfDirectory(hypervisor, dirname(path), timeoutMs, async (pool) => {
      const old = await readVolume(pool, basename(path), timeoutMs);
      const merged = mergeVariables(templateBytes, old, { maxEnd: STREAM_CHUNK_BYTES });
      if (merged === null) {
        throw new Error(`${path} and ${template} have different layouts, or the variables have no room`);
      }
      const volume = await pool.storageVolLookupByName(basename(path), { timeoutMs });
      await pipeline(Readable.from([merged]), await volume.upload({}, { timeoutMs }));
      return true;
    });
  }
}

/**
 * Returns libvirt's folder for variable files whose path is not in the definition
 * (qemuDomainNVRAMPathFormat).
 * @throws {Error} for the session of a user on another host.
 */
function variablesDirectory(uri: string): string {
  if (!isSession(uri)) return '/var/lib/libvirt/qemu/nvram';
  if (!isOnThisHost(uri)) throw new Error('the home folder of a user on another host is unknown');
  const { XDG_CONFIG_HOME: config } = process.env;
  return join(config === undefined || config === '' ? join(homedir(), '.config') : config, 'libvirt/qemu/nvram');
}
