/**
 * The UUID of the service root: the same after every restart, another on every host and for every service of a host. It is made
 * from the machine's id, so nothing has to be kept; where a machine has none (a container), it is kept in the state folder.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import type { Log } from '@rackless/daemon/log.js';
import { removeLeftovers, replaceFile } from '@rackless/daemon/replace-file.js';

export interface ServiceUuidOptions {
  /** What tells the services of one host apart: `qemu:///system 8000`. */
  readonly service: string;
  readonly stateDir: string;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Default: /etc/machine-id. @see machine-id(5) */
  readonly machineIdFile?: string;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function readTrimmed(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    // Whether it is missing or unreadable: there is no id to be had from it, and the caller has another way.
    return '';
  }
}

/** A canonical UUID. */
export function serviceUuid(options: ServiceUuidOptions): string {
  const { service, stateDir, log, machineIdFile = '/etc/machine-id' } = options;
  const machineId = readTrimmed(machineIdFile);
  // machine-id(5): it must not leave the host as it is, only hashed.
  if (/^[0-9a-f]{32}$/.test(machineId))
    return toUuid(createHmac('sha256', machineId).update(`bmc-daemon ${service}`).digest());

  const file = path.join(stateDir, 'service-uuid');
  removeLeftovers(file);
  const kept = readTrimmed(file);
  if (UUID.test(kept)) return kept;
  const made = randomUUID();
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    if (kept !== '') {
      renameSync(file, `${file}.broken`);
      log.error(`${file} is damaged: it is kept as ${file}.broken, and the service has a new UUID`);
    }
    replaceFile(file, `${made}\n`);
  } catch (error) {
    log.warn(`keeping the service's UUID in ${file}: it will be another after a restart`, { error });
  }
  return made;
}

/** RFC 9562 §5.8: a version 8 UUID is made of whatever its maker likes. */
function toUuid(digest: Buffer): string {
  const hex = digest.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-b${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
