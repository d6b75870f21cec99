/** Shows a resource, or that it is loading, or its error. */
import type { ComponentChildren } from 'preact';
import { ErrorState, Loading, messageOf } from '../ui/states.js';
import type { ResourceView } from './resource.js';

/**
 * Renders the content as soon as the resource is read. After an error, the last version stays below
 * the error.
 */
export function Loaded<Body>({
  resource: { body, error, reload },
  children,
}: {
  readonly resource: ResourceView<Body>;
  readonly children: (body: Body) => ComponentChildren;
}) {
  return (
    <>
      {error === null ? null : <ErrorState message={messageOf(error)} onRetry={() => void reload()} />}
      {body === null ? error === null ? <Loading /> : null : children(body)}
    </>
  );
}
