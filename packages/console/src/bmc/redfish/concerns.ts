/**
 * Returns whether an event with this origin concerns a resource: the origin is the resource, or a resource below or
 * above it.
 * @param uri the resource, without a query.
 * @param origin URI of the event's resource; undefined: unknown, so the event concerns no resource.
 */
export function concerns(uri: string, origin: string | undefined): boolean {
  return origin !== undefined && (isAtOrBelow(uri, origin) || isAtOrBelow(origin, uri));
}

/** Returns whether a URI is that of a resource, or of one below it. */
export const isAtOrBelow = (uri: string, resource: string): boolean =>
  uri === resource || uri.startsWith(`${resource}/`);
