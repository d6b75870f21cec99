/**
 * Access tokens of Microsoft Entra ID for an application: by a secret, or by a token of another
 * identity provider (`oidc/…`, or the token file of a Kubernetes pod).
 * @see https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 */
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { identityTokenOf } from '../identity/identity-token.js';
import type { TargetSettings } from '../target.js';
import type { OauthToken, TokenSettings } from '../token.js';

const AUTHORITY = 'https://login.microsoftonline.com';
const SCOPE = 'https://cognitiveservices.azure.com/.default';

const ASSERTION_MEMBER = 'client_assertion';

/**
 * Returns the settings of the token request, which sends the identity provider's token as its assertion. Returns a
 * string, the fault, if a setting is wrong.
 */
export function federatedToken(reference: string, settings: Pick<TargetSettings, 'value'>): TokenSettings | string {
  const application = applicationOf(settings);
  if (application === null) return 'azure_ad_token: oidc/… needs tenant_id and client_id';
  const token = identityTokenOf(reference, settings);
  return typeof token === 'string'
    ? `azure_ad_token: ${token}`
    : { ...application, identityMember: [ASSERTION_MEMBER, token] };
}

/**
 * Returns the token request without a secret and without the assertion; null: the configuration names no
 * application.
 */
function applicationOf({ value }: Pick<TargetSettings, 'value'>): OauthToken | null {
  const tenant = value('tenant_id', 'AZURE_TENANT_ID');
  const client = value('client_id', 'AZURE_CLIENT_ID');
  if (tenant === undefined || client === undefined) return null;
  const authority = withoutTrailingSlashes(value(null, 'AZURE_AUTHORITY_HOST') ?? AUTHORITY);
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
 * Returns the settings of the token request; null: the configuration names no application, or neither
 * a client secret nor a token file (`AZURE_FEDERATED_TOKEN_FILE`).
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
  return assertionFile === undefined
    ? null
    : { ...application, identityMember: [ASSERTION_MEMBER, { file: assertionFile }] };
}
