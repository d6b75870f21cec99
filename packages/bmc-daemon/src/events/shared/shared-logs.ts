/**
 * The event logs that all replicas share, in Redis. `appendScript` in event-scripts.ts stores an event,
 * and adds its entry to a log.
 */
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { fileNameOf } from '@rackless/daemon/text/file-name.js';
import type { EventLog, EventLogs } from '../event-logs.js';
import { recordSchema, type LogRecord } from '../log-file.js';
import { SERVICE_LOG } from '../log-records.js';
import { LOG_NAMES, logKeyOf, logNumberKeyOf } from './event-writer.js';
import { z } from 'zod';

/**
 * Returns the version of a log, and its entries. The version is the number of the newest entry and
 * the number of entries, because clearing a log does not change the number of the newest entry.
 * ARGV[1]: the version that the caller has. If this version is still current, the script returns no
 * entries.
 */
const readLogScript = `
local number = redis.call('GET', KEYS[2]) or '0'
local length = redis.call('LLEN', KEYS[1])
local version = number .. ' ' .. length
if version == ARGV[1] then return {version} end
return {version, unpack(redis.call('LRANGE', KEYS[1], 0, -1))}`;
const clearScript = `redis.call('DEL', KEYS[1])`;
const removeScript = `
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('SREM', KEYS[3], ARGV[1])`;
const namesScript = `return redis.call('SMEMBERS', KEYS[1])`;

const texts = z.array(z.string());
/** Maximum number of logs whose entries are in memory. */
const IN_MEMORY = 16;

/** Returns the logs in the shared store. @param limit maximum number of entries of a log. */
export function createSharedLogs(store: SharedStore, limit: number): EventLogs {
  const known = new Map<string, { readonly version: string; readonly records: readonly LogRecord[] }>();
  const read = async (name: string): Promise<readonly LogRecord[]> => {
    const before = known.get(name);
    const keys = [logKeyOf(name), logNumberKeyOf(name)];
    const [version = '', ...lines] = texts.parse(await store.run(readLogScript, keys, [before?.version ?? '']));
    known.delete(name);
    const entry = version === before?.version ? before : { version, records: lines.flatMap(recordsOf) };
    known.set(name, entry);
    const [oldest] = known.keys();
    if (known.size > IN_MEMORY && oldest !== undefined) known.delete(oldest);
    return entry.records;
  };
  const logOf = (name: string): EventLog => ({
    read: () => read(name),
    clear: async () => void (await store.run(clearScript, [logKeyOf(name)], [])),
  });
  return {
    ofSystem: (uuid) => logOf(fileNameOf(uuid)),
    ofService: logOf(SERVICE_LOG),
    async retain(uuids) {
      const names = texts.parse(await store.run(namesScript, [LOG_NAMES], []));
      const obsolete = names.filter((name) => name !== SERVICE_LOG && !uuids.has(name));
      for (const name of obsolete)
        await store.run(removeScript, [logKeyOf(name), logNumberKeyOf(name), LOG_NAMES], [name]);
    },
    limit,
    close: () => Promise.resolve(),
  };
}

/** Parses an entry. Returns an empty list if it has an unknown format. */
function recordsOf(text: string): readonly LogRecord[] {
  try {
    return [recordSchema.parse(JSON.parse(text))];
  } catch {
    return [];
  }
}
