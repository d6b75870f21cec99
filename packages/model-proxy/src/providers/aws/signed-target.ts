/** Targets at AWS whose requests have signatures. */
import type { ProviderTarget, TargetSettings } from '../target.js';

/** LiteLLM's region for deployments without `aws_region_name`. */
export const DEFAULT_REGION = 'us-west-2';

/** Returns the region of a deployment; undefined: the configuration has none. */
export const configuredRegion = ({ value }: TargetSettings): string | undefined =>
  value('aws_region_name', 'AWS_REGION_NAME', 'AWS_REGION', 'AWS_DEFAULT_REGION');

/** The service and the region, which are parts of a signature. */
interface AwsService {
  readonly service: string;
  readonly region: string;
}

/** Adds the source of the keys for signatures. @returns null: a wildcard without keys and profile. */
export function signedTarget(
  target: ProviderTarget,
  { service, region }: AwsService,
  { model, value }: TargetSettings,
): ProviderTarget | null {
  const accessKeyId = value('aws_access_key_id', 'AWS_ACCESS_KEY_ID');
  const secretAccessKey = value('aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY');
  const ownProfile = value('aws_profile_name');
  const profile = ownProfile ?? value(null, 'AWS_PROFILE');
  const sessionToken = value('aws_session_token', 'AWS_SESSION_TOKEN') ?? null;
  const keys =
    ownProfile === undefined && accessKeyId !== undefined && secretAccessKey !== undefined
      ? { accessKeyId, secretAccessKey, sessionToken }
      : null;
  if (model.includes('*') && keys === null && profile === undefined) return null;
  const files = {
    credentials: value(null, 'AWS_SHARED_CREDENTIALS_FILE') ?? null,
    config: value(null, 'AWS_CONFIG_FILE') ?? null,
  };
  const token = {
    kind: 'aws' as const,
    issuer: 'AWS',
    service,
    region,
    keys,
    profile: profile ?? 'default',
    files,
  };
  return { ...target, apiKey: null, token };
}
