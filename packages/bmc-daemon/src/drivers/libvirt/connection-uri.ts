/** Facts about connection URIs, without a connection. */
import { parseUri } from '@rackless/libvirt';

/**
 * Returns the reason why a URI is invalid, with the same text as the error of a connection attempt;
 * undefined for a valid URI.
 */
export function connectionUriFault(uri: string): string | undefined {
  try {
    parseUri(uri);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Returns whether libvirt runs on this host: the URI has no host. Returns false for an invalid URI.
 */
export function isOnThisHost(uri: string): boolean {
  try {
    return parseUri(uri).host === null;
  } catch {
    return false;
  }
}

/** Returns the name of the URI's host as an id: `kvm-1.example.com`; `localhost` if the URI has no host. */
export function hostNameOf(uri: string): string {
  return (parseUri(uri).host ?? 'localhost').toLowerCase().replaceAll(/[^a-z0-9._-]/g, '-');
}

/** Returns whether the URI is for the libvirt of a user, which stores files in the user's home. */
export function isSession(uri: string): boolean {
  return parseUri(uri).path === '/session';
}
