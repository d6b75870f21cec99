/** Finds the URL of Nova, for a benchmark with a relay between the daemon and Nova. */
import type { CloudSettings } from '../../src/drivers/nova/cloud/cloud-settings.js';

/** Returns the first URL of Nova in the catalog, without a slash at the end. @throws {Error} if there is none. */
export async function endpointOfNova({ identityUrl, credentials }: CloudSettings): Promise<string> {
  const answer = await fetch(`${identityUrl}/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth: credentials.auth }),
  });
  const { token } = (await answer.json()) as {
    readonly token: {
      readonly catalog: readonly { readonly type: string; readonly endpoints: readonly { readonly url: string }[] }[];
    };
  }; // Keystone sends this object.
  const url = token.catalog.find(({ type }) => type === 'compute')?.endpoints[0]?.url;
  if (url === undefined) throw new Error('the catalog has no Nova');
  return url.replace(/\/+$/, '');
}
