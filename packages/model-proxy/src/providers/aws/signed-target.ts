/** Targets at AWS whose requests have signatures. */
import { identityTokenOf } from '../identity/identity-token.js';
import type { ProviderTarget, TargetSettings } from '../target.js';
import type { AwsPlaces, AwsRole, AwsSource, AwsToken, IdentityToken } from '../token.js';

/** LiteLLM's region for deployments without `aws_region_name`. */
export const DEFAULT_REGION = 'us-west-2';

/** The session name of roles without a name. It appears in AWS's logs. */
const DEFAULT_SESSION_NAME = 'model-proxy';

/** Returns the region of a deployment; undefined: neither the configuration nor a variable sets it. */
export const configuredRegion = ({ value }: TargetSettings): string | undefined =>
  value('aws_region_name', 'AWS_REGION_NAME', 'AWS_REGION', 'AWS_DEFAULT_REGION');

/** The service and the region, which are parts of a signature. */
interface AwsService {
  readonly service: string;
  readonly region: string;
}

/**
 * Adds the source of the keys for signatures.
 * @returns a string: the fault of a setting. null: the model is a wildcard, and nothing names an account at AWS.
 */
export function signedTarget(
  target: ProviderTarget,
  { service, region }: AwsService,
  settings: TargetSettings,
): ProviderTarget | string | null {
  const { model, value } = settings;
  const found = sourceOf(settings);
  if (typeof found === 'string') return found;
  if (model.includes('*') && found.source.places !== undefined && !hasAccount(found.source.places, settings))
    return null;
  const stsEndpoint = value('aws_sts_endpoint', 'AWS_STS_ENDPOINT', 'AWS_ENDPOINT_URL_STS') ?? null;
  if (stsEndpoint !== null && !/^https?:\/\/\S+$/.test(stsEndpoint)) return 'aws_sts_endpoint must be a URL';
  const token: AwsToken = {
    kind: 'aws',
    issuer: 'AWS',
    service,
    region,
    ...found,
    stsEndpoint,
    files: {
      credentials: value(null, 'AWS_SHARED_CREDENTIALS_FILE') ?? null,
      config: value(null, 'AWS_CONFIG_FILE') ?? null,
    },
  };
  return { ...target, apiKey: null, token };
}

/** Returns the source of the keys and the role, in LiteLLM's order; a string: why there is no source. */
function sourceOf(settings: TargetSettings): Pick<AwsToken, 'source' | 'role'> | string {
  const { value } = settings;
  const role = roleOf(settings);
  const reference = value('aws_web_identity_token', 'AWS_WEB_IDENTITY_TOKEN');
  if (reference !== undefined) {
    if (role === null) return 'aws_web_identity_token needs aws_role_name';
    const token = webIdentityOf(reference, settings);
    return typeof token === 'string'
      ? `aws_web_identity_token: ${token}`
      : { source: { webIdentity: { role, token } }, role: null };
  }
  const source = keySourceOf(settings);
  // The role may be that of the pod. A role cannot assume itself, so the proxy exchanges the pod's token for
  // the keys of the role.
  const ofPod = source.places?.webIdentity;
  if (role !== null && ofPod?.role.arn === role.arn) return { source: { webIdentity: { ...ofPod, role } }, role: null };
  return { source, role };
}

function roleOf({ value }: TargetSettings): AwsRole | null {
  const arn = value('aws_role_name', 'AWS_ROLE_NAME');
  if (arn === undefined) return null;
  const sessionName = value('aws_session_name', 'AWS_SESSION_NAME', 'AWS_ROLE_SESSION_NAME') ?? DEFAULT_SESSION_NAME;
  return { arn, sessionName, externalId: value('aws_external_id', 'AWS_EXTERNAL_ID') ?? null };
}

/**
 * Returns the source of the web identity token; a string: the fault of the reference.
 * @param reference LiteLLM's form `oidc/…`, the absolute path of a file, or the token itself.
 */
function webIdentityOf(reference: string, settings: TargetSettings): IdentityToken | string {
  if (reference.startsWith('oidc/')) return identityTokenOf(reference, settings);
  return reference.startsWith('/') ? { file: reference } : { text: reference };
}

function keySourceOf({ value }: TargetSettings): AwsSource {
  const ownProfile = value('aws_profile_name', 'AWS_PROFILE_NAME');
  if (ownProfile !== undefined) return { profile: ownProfile };
  const accessKeyId = value('aws_access_key_id', 'AWS_ACCESS_KEY_ID');
  const secretAccessKey = value('aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY');
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return {
      keys: { accessKeyId, secretAccessKey, sessionToken: value('aws_session_token', 'AWS_SESSION_TOKEN') ?? null },
    };
  return { places: placesOf(value) };
}

function placesOf(value: TargetSettings['value']): AwsPlaces {
  const arn = value(null, 'AWS_ROLE_ARN');
  const file = value(null, 'AWS_WEB_IDENTITY_TOKEN_FILE');
  const sessionName = value(null, 'AWS_ROLE_SESSION_NAME') ?? DEFAULT_SESSION_NAME;
  const relativeUri = value(null, 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI');
  const fullUri = value(null, 'AWS_CONTAINER_CREDENTIALS_FULL_URI');
  const token = value(null, 'AWS_CONTAINER_AUTHORIZATION_TOKEN');
  const tokenFile = value(null, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  const container = {
    ...(relativeUri === undefined ? {} : { relativeUri }),
    ...(fullUri === undefined ? {} : { fullUri }),
    ...(token === undefined ? {} : { token }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
  };
  const isDisabled = (value(null, 'AWS_EC2_METADATA_DISABLED') ?? 'false').toLowerCase() !== 'false';
  return {
    profile: value(null, 'AWS_PROFILE') ?? 'default',
    webIdentity:
      arn === undefined || file === undefined
        ? null
        : { role: { arn, sessionName, externalId: null }, token: { file } },
    container: relativeUri === undefined && fullUri === undefined ? null : container,
    asksMetadata: !isDisabled,
  };
}

/**
 * Returns whether a variable or a setting names an account. Many configurations have `model: "*"`, but no
 * account at AWS.
 */
function hasAccount({ webIdentity, container }: AwsPlaces, settings: TargetSettings): boolean {
  return (
    webIdentity !== null ||
    container !== null ||
    roleOf(settings) !== null ||
    settings.value(null, 'AWS_PROFILE') !== undefined
  );
}
