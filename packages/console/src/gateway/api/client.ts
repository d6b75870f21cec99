/** Requests of the pages. This folder is the only place that sends requests to the proxy. */
import { currentKey, isRefused, loginState, renewLogin } from './session.js';
import { open, exchange } from './wire.js';

/**
 * Reads a value. After a 401, waits until the user has logged in again, and repeats the request.
 * @throws as {@link exchange}, except 401.
 */
export function get<Body>(path: string): Promise<Body> {
  return repeatAfterLogin((key) => exchange<Body>({ method: 'GET', path, key }));
}

/** Sends a change. Repeats it after a new login like {@link get}. @throws as {@link get}. */
export function post<Body>(path: string, body: object): Promise<Body> {
  return repeatAfterLogin((key) => exchange<Body>({ method: 'POST', path, key, body }));
}

/**
 * Reads a file. Repeats the request after a new login like {@link get}.
 * @throws as {@link open}, except 401; {TypeError} if the answer breaks off.
 */
export async function getFile(path: string): Promise<Blob> {
  return (await repeatAfterLogin((key) => open({ method: 'GET', path, key }))).blob();
}

/**
 * Sends a request whose answer is a stream. Repeats the request after a new login like {@link get}.
 * @throws as {@link open}, except 401.
 */
export function postForStream(path: string, body: object, signal: AbortSignal): Promise<Response> {
  return repeatAfterLogin((key) => open({ method: 'POST', path, key, body, signal }));
}

async function repeatAfterLogin<T>(request: (key: string | null) => Promise<T>): Promise<T> {
  for (;;) {
    // While the login dialog is open, further requests wait for the login.
    if (loginState.value.kind === 'loggedOut') await renewLogin(null);
    const used = currentKey();
    try {
      return await request(used);
    } catch (error) {
      if (!isRefused(error)) throw error;
      await renewLogin(used);
    }
  }
}
