/** The paths of the management routes, in their own file, so that a lookup does not load the code of the routes. */

/** Path → method. */
const methods = {
  '/key/generate': 'POST',
  '/key/update': 'POST',
  '/key/delete': 'POST',
  '/key/block': 'POST',
  '/key/unblock': 'POST',
  '/key/info': 'GET',
  '/key/list': 'GET',
  '/spend/logs': 'GET',
  '/spend/tags': 'GET',
  '/global/spend/report': 'GET',
  '/usage/daily': 'GET',
  '/usage/export': 'GET',
} as const;

/** A path of the management routes. */
export type ManagementPath = keyof typeof methods;

/** All paths with their methods. */
export const managementPaths: ReadonlyMap<string, 'GET' | 'POST'> = new Map(Object.entries(methods));

/** Paths that clients with a virtual key may request. The answers contain only data of this key. */
export const pathsForVirtualKeys: ReadonlySet<string> = new Set<ManagementPath>(['/key/info']);

/** Returns whether a path is a management route. */
export function isManagementPath(path: string): path is ManagementPath {
  return managementPaths.has(path);
}
