/** Reads the state of a server from its metadata and from the image that holds its changes. */
import { createHash } from 'node:crypto';
import type { Server } from '../compute/server.js';
import type { CloudImage } from '../image/image-api.js';
import {
  afterItsBoot,
  parseChange,
  parseState,
  STATE_KEY,
  stateProperty,
  untouchedState,
  type ServerState,
} from './server-state.js';

/** The state of a server, and where it comes from. */
export interface KnownState {
  /**
   * The state that applies now. It includes the effect of the boot in {@link stored}, and no
   * deleted image.
   */
  readonly state: ServerState;
  /** The state in the metadata item. */
  readonly stored: ServerState;
  /** The state that was stored while the metadata were locked; undefined if there is none. */
  readonly next: ServerState | undefined;
  /** Whether the image has a change, even if this change does not apply. */
  readonly hasProperty: boolean;
}

/** Returns the state in the metadata of a server. */
export function storedState({ metadata }: Pick<Server, 'metadata'>): ServerState {
  return parseState(metadata[STATE_KEY]) ?? untouchedState;
}

/** Returns whether the metadata contain the mark of a boot, or of a power-off that has begun. */
export function isMarked(server: Pick<Server, 'metadata'>): boolean {
  const { bootedAfter, stopping } = storedState(server);
  return bootedAfter !== undefined || stopping !== undefined;
}

/**
 * Returns the id of the image that holds changes while the metadata are locked; undefined if there is
 * none. The id of a note differs for each boot, because Glance accepts no id again.
 */
export function changesImageId(server: Pick<Server, 'id' | 'metadata'>): string | undefined {
  const { cd, bootedAfter } = storedState(server);
  if (cd !== null) return cd;
  return bootedAfter === undefined ? undefined : noteId(server.id, bootedAfter);
}

/** Returns the id of a note: a UUID of version 8. */
function noteId(serverId: string, bootedAfter: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([serverId, bootedAfter]))
    .digest('hex');
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(12, 15)}`, `8${hash.slice(15, 18)}`];
  return [...parts, hash.slice(18, 30)].join('-');
}

/** Returns whether the server runs an image that this service booted. */
export function runsImage(server: Pick<Server, 'metadata' | 'vmState'>): boolean {
  return server.vmState === 'rescued' && storedState(server).bootedAfter !== undefined;
}

/**
 * Returns the state of a server. A change from the time in which the metadata were locked has
 * precedence.
 * @param image the image with the id of {@link changesImageId}; undefined if there is none.
 */
export function knownState(server: Pick<Server, 'id' | 'metadata'>, image: CloudImage | undefined): KnownState {
  const stored = storedState(server);
  const property = image?.properties.get(stateProperty(server.id));
  const next = parseChange(property, server.metadata[STATE_KEY]);
  const applied = next ?? (stored.bootedAfter === undefined ? stored : afterItsBoot(stored));
  // A user may have deleted the image in the drive.
  const isGone = next === undefined && stored.cd !== null && image === undefined;
  const state = isGone ? { ...applied, cd: null } : applied;
  return { state, stored, next, hasProperty: property !== undefined };
}
