/**
 * Reads a server before an action that switches it on or off. Many operations share a listing, which may
 * lack changes of metadata. The metadata tell which image a server boots.
 */
import type { Server } from '../compute/server.js';
import { readState, type PowerControlOptions } from '../power-control.js';
import { STATE_KEY } from './server-state.js';

/** Dependencies of the reads. */
interface BootReadsOptions extends PowerControlOptions {
  /** Reads a server by its own request. */
  readonly read: (id: string) => Promise<Server>;
}

/** Reads a server before it is switched off. @throws as {@link readState}. */
export async function readBeforeStop(id: string, options: BootReadsOptions): Promise<Server> {
  const server = await readState(id, options);
  return server.vmState === 'rescued' ? options.read(id) : server;
}

/** Reads a server before it boots. @throws as {@link readState}. */
export async function readBeforeBoot(id: string, options: BootReadsOptions): Promise<Server> {
  const { api, polls, read } = options;
  if (!polls.areMany) return read(id);
  const [metadata, server] = await Promise.all([api.getMetadata(id), readState(id, options)]);
  // The two readings have different times, so together they cannot show how far a boot is.
  const isPlain = metadata?.[STATE_KEY] === undefined && server.task === null && server.vmState !== 'rescued';
  return metadata !== undefined && isPlain ? { ...server, metadata } : read(id);
}
