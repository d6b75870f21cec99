/**
 * Access tokens of Microsoft Entra ID for an application: by a secret, or by the token of a
 * Kubernetes pod (workload identity).
 * @see https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 */
import type { TargetSettings } from '../target.js';
import type { OauthToken, TokenSettings } from '../token.js';

const AUTHORITY = 'https://login.microsoftonline.com';
const SCOPE = 'https://cognitiveservices.azure.com/.default';

/** Google's metadata server, which gives an identity to virtual machines. */
const GOOGLE = 'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity';

type Assertion = Pick<OauthToken, 'fileMember' | 'issuedMember'>;
const MEMBER = 'client_assertion';

/**
 * Returns the source of the token in LiteLLM's form `oidc/google/AUDIENCE`, `oidc/github/AUDIENCE`,
 * `oidc/file/PATH` or `oidc/env_path/VARIABLE`. @returns a string: why there is none.
 * @see https://cloud.google.com/compute/docs/instances/verifying-instance-identity
 * @see https://docs.github.com/actions/reference/security/oidc
 */
function assertionOf(reference: string, { value }: Pick<TargetSettings, 'value'>): Assertion | string {
  const [, kind, rest = ''] = /^oidc\/(\w+)\/(.+)$/.exec(reference) ?? [];
  const audience = encodeURIComponent(rest);
  if (kind === 'google')
    return {
      issuedMember: [MEMBER, { url: `${GOOGLE}?audience=${audience}`, headers: { 'metadata-flavor': 'Google' } }],
    };
  if (kind === 'file') return { fileMember: [MEMBER, rest] };
  if (kind === 'env_path') {
    const file = value(null, rest);
    return file === undefined ? `${rest} is not set` : { fileMember: [MEMBER, file] };
  }
  if (kind !== 'github') return `azure_ad_token: ${reference.split('/', 2).join('/')}/… is not implemented`;
  const url = value(null, 'ACTIONS_ID_TOKEN_REQUEST_URL');
  const token = value(null, 'ACTIONS_ID_TOKEN_REQUEST_TOKEN');
  if (url === undefined || token === undefined) return 'ACTIONS_ID_TOKEN_REQUEST_URL and …_TOKEN are not set';
  const headers = { authorization: `Bearer ${token}` };
  return { issuedMember: [MEMBER, { url: `${url}&audience=${audience}`, headers }] };
}

/** Returns how to get the tokens with the token of another identity provider; a string: why not. */
export function federatedToken(reference: string, settings: Pick<TargetSettings, 'value'>): TokenSettings | string {
  const application = applicationOf(settings);
  if (application === null) return 'azure_ad_token: oidc/… needs tenant_id and client_id';
  const assertion = assertionOf(reference, settings);
  return typeof assertion === 'string' ? assertion : { ...application, ...assertion };
}

/** Returns the request without the secret or the assertion; null: the configuration has no application. */
function applicationOf({ value }: Pick<TargetSettings, 'value'>): OauthToken | null {
  const tenant = value('tenant_id', 'AZURE_TENANT_ID');
  const client = value('client_id', 'AZURE_CLIENT_ID');
  if (tenant === undefined || client === undefined) return null;
  const authority = (value(null, 'AZURE_AUTHORITY_HOST') ?? AUTHORITY).replace(/\/+$/, '');
  const form = {
    grant_type: 'client_credentials',
    client_id: client,
    scope: value('azure_scope', 'AZURE_SCOPE') ?? SCOPE,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  };
  const url = `${authority}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
  return { kind: 'oauth', issuer: 'Microsoft Entra ID', url, form };
}

/**
 * Returns how to get the tokens; null: the configuration has no application.
 */
export function entraToken(settings: Pick<TargetSettings, 'value'>): TokenSettings | null {
  const application = applicationOf(settings);
  if (application === null) return null;
  const secret = settings.value('client_secret', 'AZURE_CLIENT_SECRET');
  if (secret !== undefined) {
    const { client_assertion_type: _type, ...form } = application.form;
    return { ...application, form: { ...form, client_secret: secret } };
  }
  const assertionFile = settings.value(null, 'AZURE_FEDERATED_TOKEN_FILE');
  return assertionFile === undefined ? null : { ...application, fileMember: [MEMBER, assertionFile] };
}
