/**
 * Reads a server before an action that switches it on or off. Many operations share a listing, which may lack
 * changes of metadata. The metadata name the image that a server boots. So the read before a boot also reads the
 * metadata.
 */
import type { OperationOptions } from '../../operation-options.js';
import type { Server } from '../compute/server.js';
import { readState, type PowerControlOptions } from '../power-control.js';
import { STATE_KEY } from './server-state.js';

/** Dependencies of the reads. */
interface BootReadsOptions extends PowerControlOptions {
  /** Reads a server by its own request. */
  readonly read: (id: string) => Promise<Server>;
}

/** Reads a server before it is switched off. @throws as {@link readState}. */
export async function readBeforeStop(
  id: string,
  operation: OperationOptions,
  options: BootReadsOptions,
): Promise<Server> {
  if (!canShare(options)) return options.read(id);
  const server = await readState(id, operation, options);
  return server.vmState === 'rescued' ? options.read(id) : server;
}

/** Reads a server before it boots. @throws as {@link readState}. */
export async function readBeforeBoot(
  id: string,
  operation: OperationOptions,
  options: BootReadsOptions,
): Promise<Server> {
  const { api, read } = options;
  if (!canShare(options)) return read(id);
  const server = await readState(id, operation, options);
  const metadata = await api.getMetadata(id);
  // The two readings have different times, so together they cannot show how far a boot is. If a boot may be
  // running, the function reads the server by its own request.
  const isPlain = metadata?.[STATE_KEY] === undefined && server.task === null && server.vmState !== 'rescued';
  return metadata !== undefined && isPlain ? { ...server, metadata } : read(id);
}

/**
 * Returns whether operations share a listing now. False if tags or metadata decide which servers are served,
 * because a listing of changes does not report changes of tags and metadata.
 */
function canShare({ polls, list }: BootReadsOptions): boolean {
  return polls.areShared && !list.filtersByItems;
}
