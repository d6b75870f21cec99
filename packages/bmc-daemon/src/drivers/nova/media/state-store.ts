/**
 * Reads and writes the states of servers in the cloud. A state is a metadata item of its server.
 * Nova locks the metadata while the server is in rescue mode or in the state ERROR. During this
 * time, the store writes changes into a property of an image, and later moves them to the metadata.
 * The store uses the image in the drive. If the drive is empty, for example after a boot from the
 * network, the store creates a *note*: an image without content.
 */
import { storedImagePrefix } from '../../../media/image-key.js';
import { DriverError } from '../../driver-error.js';
import type { ServerList } from '../compute/server-list.js';
import type { ComputeApi } from '../compute/compute-api.js';
import { isKnown, type Server } from '../compute/server.js';
import type { CloudImage, ImageApi } from '../image/image-api.js';
import { REGION_PROPERTY } from '../image/image-store.js';
import type { ServerItems } from './server-items.js';
import {
  afterItsBoot,
  beforeItsBoot,
  formatChange,
  formatItem,
  isOfNewerVersion,
  isSameState,
  isUntouched,
  MAX_ACTION,
  parseChange,
  STATE_KEY,
  stateProperty,
  withoutStopping,
  type ServerState,
  type Stopping,
} from './server-state.js';
import { changesImageId, isMarked, knownState, storedState, type KnownState } from './stored-state.js';

/** The calls of the store. */
export interface StateStoreOptions {
  readonly items: ServerItems;
  readonly api: Pick<ComputeApi, 'getServer' | 'listActions' | 'listServers'>;
  readonly images: Pick<ImageApi, 'get' | 'setProperty' | 'createNote' | 'remove'>;
  readonly list: Pick<ServerList, 'record'>;
  /** The region of the servers. Several regions may share one Glance. */
  readonly region: string;
  /** Called after each write. @param dropped whether the server has stopped using an image. */
  readonly onWritten: (dropped: boolean) => void;
}

/**
 * Maximum number of attempts to change a property, because another daemon may overwrite the change.
 */
const MAX_ATTEMPTS = 3;

/** The store. Calls for one server must not overlap. */
export class StateStore {
  readonly #options: StateStoreOptions;

  constructor(options: StateStoreOptions) {
    this.#options = options;
  }

  /**
   * Returns the state of a server.
   * @throws {CloudFailure} if Glance does not answer.
   * @throws {DriverError} unavailable, if a newer version has stored a state that this one cannot read. A
   *   change would destroy it, and a boot would ignore it.
   */
  async read(server: Server): Promise<KnownState> {
    if (isOfNewerVersion(server.metadata[STATE_KEY])) {
      const why = 'a newer version of the service has stored them';
      throw new DriverError('unavailable', `reading the settings of server ${server.name}: ${why}`);
    }
    const holder = changesImageId(server);
    return knownState(server, holder === undefined ? undefined : await this.#options.images.get(holder));
  }

  /**
   * Stores a state.
   * @throws as {@link read}; {DriverError} conflict, if the metadata are locked and no image stores the change:
   *   the drive is empty and this service has not booted the server, a user deleted the image, or other daemons
   *   overwrite each attempt; unavailable, if another daemon has stored other settings since the server was read.
   */
  async write(server: Server, state: ServerState): Promise<void> {
    if (await this.#writeItem(server, state)) return;
    const answer = await this.#options.api.getServer(server.id);
    const current = answer !== undefined && isKnown(answer) ? answer : server;
    if (await this.#writeProperty(current, beforeItsBoot(state))) {
      this.#options.onWritten(false);
      return;
    }
    const doing = `changing the settings of server ${server.name}`;
    // Another daemon may have ended the boot, and removed its mark, since the server was read.
    if (isMarked(server) && !isMarked(current)) {
      const [before, after] = [storedState(server), storedState(current)];
      if (![beforeItsBoot(before), afterItsBoot(before)].some((each) => isSameState(each, after)))
        throw new DriverError('unavailable', `${doing}: another client has changed them meanwhile`);
      if (await this.#writeItem(current, state)) return;
    }
    const why = 'Nova stores no settings of a server in this state, and no image could store them instead';
    throw new DriverError('conflict', `${doing}: ${why}`);
  }

  /** Writes the metadata item. @returns false if the metadata are locked, or must keep the mark of a boot. */
  async #writeItem(server: Server, state: ServerState): Promise<boolean> {
    const { api, items, list, onWritten } = this.#options;
    const { stored, hasProperty } = await this.read(server);
    // While Nova's task boots the image, the metadata must still contain the mark of the boot.
    const isBooting = server.task !== null && stored.bootedAfter !== undefined && state.bootedAfter === undefined;
    const text = isUntouched(state) ? null : formatItem(state);
    if (isBooting || !(await items.setMetadata(server.id, STATE_KEY, text))) return false;
    if (hasProperty) await this.#removeChange(server);
    const readAt = performance.now();
    list.record(server.id, await api.getServer(server.id), { readAt });
    onWritten(stored.cd !== null && stored.cd !== state.cd);
    return true;
  }

  /**
   * Moves a change into the metadata if it was made while they were locked, and removes the mark of a boot.
   * Does nothing while the server is in rescue mode or Nova executes a task.
   * @returns the state that applies.
   * @throws as {@link read} and {@link write}.
   */
  async settle(server: Server): Promise<ServerState> {
    const { state, stored, next } = await this.read(server);
    if (next === undefined && stored.bootedAfter === undefined) return state;
    if (server.vmState === 'rescued' || server.task !== null) return state;
    const settled = next ?? ((await this.#hasBooted(server.id, stored)) ? afterItsBoot(stored) : beforeItsBoot(stored));
    const kept = state.cd === null ? { ...settled, cd: null } : settled;
    await this.write(server, kept);
    return kept;
  }

  /**
   * Restores the mark of a boot that has begun, if another daemon has removed it meanwhile. Settings that
   * the other daemon has stored apply after the boot.
   * @param booting the state with the mark.
   * @throws {DriverError} conflict, if the image that holds these settings is gone.
   */
  async keepMark(id: string, booting: ServerState): Promise<void> {
    const { api, items } = this.#options;
    const current = await api.getServer(id);
    if (current === undefined || !isKnown(current) || isMarked(current)) return;
    const changed = storedState(current);
    const text = formatItem(booting);
    if (!(await items.setMetadata(id, STATE_KEY, text))) return;
    if (isSameState(changed, beforeItsBoot(booting))) return;
    const marked = { ...current, metadata: { ...current.metadata, [STATE_KEY]: text } };
    if (await this.#writeProperty(marked, changed)) return;
    const why = 'there is no image for the settings that another daemon has stored';
    throw new DriverError('conflict', `booting server ${current.name}: ${why}`);
  }

  /**
   * Stores that this daemon begins to switch off a server that runs an image.
   * @throws as {@link read} and {@link write}.
   */
  async beginStop(server: Server, by: string): Promise<void> {
    const { state } = await this.read(server);
    const after = await this.newMark(server.id);
    await this.write(server, { ...state, stopping: { after, by } });
  }

  /**
   * Removes the record of a power-off.
   * @returns whether there was a record.
   * @throws as {@link read} and {@link write}.
   */
  async endStop(server: Server): Promise<boolean> {
    const { state } = await this.read(server);
    if (state.stopping === undefined) return false;
    await this.write(server, withoutStopping(state));
    return true;
  }

  /**
   * Returns whether a power-off stopped halfway: the last action of the server is the first action
   * of the power-off.
   */
  async isHalfStopped({ id, vmState }: Server, { after }: Stopping): Promise<boolean> {
    if (vmState !== 'active') return false;
    const [before, last] = (await this.#options.api.listActions(id)).slice(-2);
    return before?.id === after && last?.action === 'unrescue';
  }

  /**
   * Returns the mark for a boot that begins now: the id of the server's last action. Empty if there is none,
   * or if the item cannot hold it.
   */
  async newMark(id: string): Promise<string> {
    const last = (await this.#options.api.listActions(id)).at(-1)?.id ?? '';
    return last.length <= MAX_ACTION ? last : '';
  }

  /**
   * Returns the ids of the images that servers of the project use, including servers that this
   * daemon does not expose. Returns the ids of all given images if it cannot know this.
   */
  async imagesInUse(images: readonly CloudImage[]): Promise<ReadonlySet<string>> {
    const { servers, isIncomplete } = await this.#options.api.listServers();
    const known = servers.filter(isKnown);
    // The metadata of a server are unknown if its cell is down, or if Nova sent an unexpected form, or if
    // a newer version has written them. Then every image may be in use.
    const isNewer = known.some(({ metadata }) => isOfNewerVersion(metadata[STATE_KEY]));
    if (isIncomplete || isNewer || known.length < servers.length) return new Set(images.map(({ id }) => id));
    const now = known.map(changesImageId);
    const later = images.flatMap(({ properties }) =>
      known.map(
        ({ id, metadata }) => parseChange(properties.get(stateProperty(id)), metadata[STATE_KEY])?.cd ?? undefined,
      ),
    );
    return new Set([...now, ...later].filter((id) => id !== undefined));
  }

  /** Returns whether Nova has booted the image successfully since the mark. */
  async #hasBooted(id: string, { bootedAfter }: ServerState): Promise<boolean> {
    const actions = await this.#options.api.listActions(id);
    const marked = actions.findIndex((action) => action.id === bootedAfter);
    return actions.slice(marked + 1).some(({ action, hasFailed }) => action === 'rescue' && !hasFailed);
  }

  /**
   * Changes the property, and checks the result. Glance writes all properties at once, so another daemon may
   * overwrite the change.
   * @returns false if there is no image for the change, or if other daemons have overwritten each attempt.
   */
  async #writeProperty(server: Server, state: ServerState): Promise<boolean> {
    const { images } = this.#options;
    const holder = changesImageId(server);
    if (holder === undefined) return false;
    const property = stateProperty(server.id);
    const text = formatChange(state, server.metadata[STATE_KEY]);
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const image = await images.get(holder);
      if (image?.properties.get(property) === text) return true;
      if (image !== undefined) await images.setProperty(holder, property, text);
      else if (storedState(server).cd === null) await this.#createNote(holder, { [property]: text });
      else return false;
    }
    return (await images.get(holder))?.properties.get(property) === text;
  }

  async #createNote(id: string, properties: Readonly<Record<string, string>>): Promise<void> {
    const { images, region } = this.#options;
    // The name has the form of an image of this service, so a sweep deletes the note when no server
    // needs it.
    const name = `${storedImagePrefix('')}${id.replaceAll('-', '').slice(0, 16)}.iso`;
    await images.createNote({ id, name, properties: { ...properties, [REGION_PROPERTY]: region } });
  }

  /** Removes the change that has moved to the metadata. */
  async #removeChange(server: Server): Promise<void> {
    const { images } = this.#options;
    const holder = changesImageId(server);
    if (holder === undefined) return;
    if (storedState(server).cd === null) {
      await images.remove(holder);
      return;
    }
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      await images.setProperty(holder, stateProperty(server.id), null);
      const image = await images.get(holder);
      if (image === undefined || !image.properties.has(stateProperty(server.id))) return;
    }
  }
}
