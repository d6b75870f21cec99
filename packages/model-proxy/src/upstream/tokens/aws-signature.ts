/**
 * Signs requests to AWS.
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
import { createHash } from 'node:crypto';
import { Sha256Node } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsKeys, AwsToken } from '../../providers/token.js';
import type { UpstreamRequest } from '../upstream.js';

/** Parses the keys that {@link fetchAwsKeys} stored as a token. */
export function awsKeysOf(token: string): AwsKeys {
  return JSON.parse(token) as AwsKeys; // written by `fetchAwsKeys`
}

/** Returns the request with a signature of its method, URL, content type and body. @param body the whole body. */
export async function signed(
  request: UpstreamRequest,
  body: readonly Buffer[],
  keys: AwsKeys,
  { region, service }: AwsToken,
): Promise<UpstreamRequest> {
  const hash = createHash('sha256');
  for (const chunk of body) hash.update(chunk);
  const { protocol, hostname, host, pathname, searchParams } = new URL(request.url);
  const { accessKeyId, secretAccessKey, sessionToken } = keys;
  const signer = new SignatureV4({
    region,
    service,
    sha256: Sha256Node,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) },
  });
  const given = { host, 'content-type': 'application/json', 'x-amz-content-sha256': hash.digest('hex') };
  const query = Object.fromEntries(searchParams);
  const { headers } = await signer.sign({
    method: request.method,
    protocol,
    hostname,
    path: pathname,
    query,
    headers: given,
  });
  const { host: _host, 'content-type': _type, ...added } = headers;
  return { ...request, headers: [...request.headers, ...Object.entries(added).flat()] };
}
