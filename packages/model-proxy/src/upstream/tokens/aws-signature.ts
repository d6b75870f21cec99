/**
 * AWS's credentials, and signatures of requests with them.
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
import { createHash } from 'node:crypto';
import { Sha256Node } from '@smithy/core/checksum';
import { loadSharedConfigFiles } from '@smithy/core/config';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsKeys, AwsToken } from '../../providers/token.js';
import type { UpstreamRequest } from '../upstream.js';
import { TokenFault, type FetchedToken } from './token-source.js';

/** Keys do not expire. The files may change. */
const REREAD_MS = 300_000;

/**
 * Returns the keys as JSON.
 * @throws {TokenFault} the files have no usable keys.
 */
export async function readAwsKeys({ keys, profile, files }: AwsToken): Promise<FetchedToken> {
  return { token: JSON.stringify(keys ?? (await keysOfProfile(profile, files))), lifetimeMs: REREAD_MS };
}

async function keysOfProfile(profile: string, files: AwsToken['files']): Promise<AwsKeys> {
  const loaded = await loadSharedConfigFiles({
    ignoreCache: true,
    ...(files.credentials === null ? {} : { filepath: files.credentials }),
    ...(files.config === null ? {} : { configFilepath: files.config }),
  });
  const found = { ...loaded.configFile[profile], ...loaded.credentialsFile[profile] };
  const { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey, aws_session_token: session } = found;
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return { accessKeyId, secretAccessKey, sessionToken: session ?? null };
  const other = ['role_arn', 'sso_session', 'sso_start_url', 'credential_process'].find((name) => name in found);
  const why =
    other === undefined
      ? `there are no keys: set aws_access_key_id and aws_secret_access_key, or the profile '${profile}'`
      : `the profile '${profile}' needs ${other}, which is not implemented`;
  throw new TokenFault(`has no usable credentials: ${why}`, { isRejection: true });
}

/** Returns the keys of {@link readAwsKeys}. */
export function awsKeysOf(token: string): AwsKeys {
  return JSON.parse(token) as AwsKeys; // written by `readAwsKeys`
}

/** Returns the request with a signature of its method, URL, type and body. @param body the whole body. */
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
