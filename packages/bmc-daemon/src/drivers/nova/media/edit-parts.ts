/**
 * The parts that an edit of a server uses. Before each action, and before each change of metadata or of
 * a property of an image, they check that the edit still has its turn.
 */
import type { TurnCheck } from '../../queue/operation-queue.js';
import type { ComputeApi } from '../compute/compute-api.js';
import type { ImageApi } from '../image/image-api.js';
import type { ServerItems } from './server-items.js';
import { StateStore, type StateStoreOptions } from './state-store.js';

/** The parts of one edit. */
export interface EditParts {
  readonly api: ComputeApi;
  readonly states: StateStore;
}

/** Returns the function that creates the parts of an edit. Edits without a check share their parts. */
export function createEditParts(
  options: StateStoreOptions & { readonly api: ComputeApi },
): (check?: TurnCheck) => EditParts {
  const unchecked = { api: options.api, states: new StateStore(options) };
  return (check) => {
    if (check === undefined) return unchecked;
    const api: ComputeApi = { ...options.api, act: (...args) => check().then(() => options.api.act(...args)) };
    const items: ServerItems = { setMetadata: (...args) => check().then(() => options.items.setMetadata(...args)) };
    const images: ImageApi = {
      ...options.images,
      setProperty: (...args) => check().then(() => options.images.setProperty(...args)),
    };
    return { api, states: new StateStore({ ...options, api, items, images }) };
  };
}
