/**
 * The parts that an edit of a server uses. Before each action of Nova, and before each change of metadata or of
 * an image, they check that the edit still has its turn.
 */
import type { TurnCheck } from '../../queue/operation-queue.js';
import type { ComputeApi } from '../compute/compute-api.js';
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
    const checked =
      <Args extends readonly unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
      (...args: Args): Promise<Result> =>
        check().then(() => write(...args));
    const api: ComputeApi = { ...options.api, act: checked((...args) => options.api.act(...args)) };
    const items: ServerItems = { setMetadata: checked((...args) => options.items.setMetadata(...args)) };
    // Names each method, so that a new write does not miss its check.
    const images: StateStoreOptions['images'] = {
      get: options.images.get,
      setProperty: checked(options.images.setProperty),
      createNote: checked(options.images.createNote),
      remove: checked(options.images.remove),
    };
    return { api, states: new StateStore({ ...options, api, items, images }) };
  };
}
