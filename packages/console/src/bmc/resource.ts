/** Reads a resource for a component, and reads it again when an event names it. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { useNewest } from '../ui/newest.js';
import { getWithEtag } from './redfish/client.js';
import { onConnect, onEvents } from './redfish/event-stream.js';

/** A resource in a component. */
export interface ResourceView<Body> {
  /** The resource; null: not read yet. */
  readonly body: Body | null;
  readonly etag: string | null;
  readonly error: unknown;
  /** Reads the resource again. */
  readonly reload: () => Promise<void>;
}

/**
 * Reads a resource, and reads it again after each event of the resource, of one below it, or of its machine.
 * @param path the URI; null: nothing is read.
 */
export function useResource<Body>(path: string | null): ResourceView<Body> {
  const state = useSignal<Omit<ResourceView<Body>, 'reload'>>({ body: null, etag: null, error: null });
  const newest = useNewest();
  const reload = useCallback(async () => {
    if (path === null) return;
    const isNewest = newest.begin();
    const next = await getWithEtag<Body>(path).then(
      (reply) => ({ ...reply, error: null }),
      (error: unknown) => ({ ...state.peek(), error }),
    );
    if (isNewest()) state.value = next;
  }, [path]);
  useEffect(() => {
    // Answers for an earlier path do not count.
    newest.forget();
    state.value = { body: null, etag: null, error: null };
    if (path === null) return;
    void reload();
    const resource = path.split('?')[0] ?? '';
    const stops = [
      onConnect(() => void reload()),
      onEvents((events) => {
        const isConcerned = events.some(({ OriginOfCondition }) => {
          const origin = OriginOfCondition?.['@odata.id'];
          return origin !== undefined && (resource.startsWith(origin) || origin.startsWith(`${resource}/`));
        });
        if (isConcerned) void reload();
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [path, reload]);
  return { ...(state as ReadonlySignal<Omit<ResourceView<Body>, 'reload'>>).value, reload };
}
