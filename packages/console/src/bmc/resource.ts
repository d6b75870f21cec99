/** Reads a resource for a component, and reads it again when an event concerns it. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { useAnswerOrder } from '../ui/answer-order.js';
import { getWithEtag } from './redfish/client.js';
import { concerns } from './redfish/concerns.js';
import { onConnect, onEvents } from './redfish/event-stream.js';

/** A resource in a component. */
export interface ResourceView<Body> {
  /** The resource; null: not read yet. */
  readonly body: Body | null;
  readonly etag: string | null;
  /** The error of the last read; null: none. After an error, `body` is that of the last successful read. */
  readonly error: unknown;
  /** Reads the resource again. */
  readonly reload: () => Promise<void>;
}

/**
 * Reads a resource. Reads it again when the event stream connects, and after each event of the resource or of one
 * below or above it.
 * @param path the URI; null: nothing is read.
 */
export function useResource<Body>(path: string | null): ResourceView<Body> {
  const state = useSignal<Omit<ResourceView<Body>, 'reload'>>({ body: null, etag: null, error: null });
  const order = useAnswerOrder();
  const reload = useCallback(async () => {
    if (path === null) return;
    const accept = order.begin();
    const next = await getWithEtag<Body>(path).then(
      (reply) => ({ ...reply, error: null }),
      (error: unknown) => ({ ...state.peek(), error }),
    );
    if (accept()) state.value = next;
  }, [path]);
  useEffect(() => {
    // The path may have changed: ignores answers for the earlier path.
    order.forget();
    state.value = { body: null, etag: null, error: null };
    if (path === null) return;
    void reload();
    const uri = path.split('?')[0] ?? '';
    const stops = [
      onConnect(() => void reload()),
      onEvents((events) => {
        if (events.some(({ OriginOfCondition }) => concerns(uri, OriginOfCondition?.['@odata.id']))) void reload();
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [path, reload]);
  return { ...(state as ReadonlySignal<Omit<ResourceView<Body>, 'reload'>>).value, reload };
}
