/** Rows of `litellm_params` that only some providers use. */
import { jsonOrPath, key, text } from '../setting-types.js';

/** Settings of single providers. */
export const providerRows = {
  accountId: text({
    name: 'account_id',
    default: "the provider's environment variable",
    doc: 'Account at Cloudflare or Snowflake. It is a part of the address.',
  }),
  tenantId: text({
    name: 'tenant_id',
    default: "the provider's environment variable",
    doc: 'Tenant of Microsoft Entra ID (variable `AZURE_TENANT_ID`), or of Predibase.',
  }),
  apiVersion: text({
    name: 'api_version',
    default: '`AZURE_API_VERSION`, then 2025-02-01-preview',
    doc: "Version of Azure's API. `v1`, `latest` and `preview` select the address `/openai/v1`. A query `?api-version=…` of `api_base` has priority.",
  }),
  azureAdToken: key({
    name: 'azure_ad_token',
    default: '`AZURE_AD_TOKEN`',
    secret: true,
    doc: 'Access token for Azure, instead of `api_key`. The proxy does not refresh a token that is written here. With `oidc/…`, the proxy gets and refreshes [access tokens](providers.md#azure).',
  }),
  clientId: text({
    name: 'client_id',
    default: '`AZURE_CLIENT_ID`',
    doc: 'Application of Microsoft Entra ID. Without an `api_key`, the proxy gets access tokens for Azure as this application.',
  }),
  clientSecret: key({
    name: 'client_secret',
    default: '`AZURE_CLIENT_SECRET`',
    secret: true,
    doc: 'Secret of the application. Without it, `AZURE_FEDERATED_TOKEN_FILE` names the file with a token of Kubernetes.',
  }),
  azureScope: text({
    name: 'azure_scope',
    default: '`AZURE_SCOPE`, then https://cognitiveservices.azure.com/.default',
    doc: 'Scope of the access tokens for Azure.',
  }),
  vertexProject: text({
    name: 'vertex_project',
    aliases: ['vertex_ai_project'],
    default: '`VERTEXAI_PROJECT`, then `GOOGLE_CLOUD_PROJECT`',
    doc: 'Project of Google Cloud.',
  }),
  vertexLocation: text({
    name: 'vertex_location',
    aliases: ['vertex_ai_location'],
    default: '`VERTEXAI_LOCATION`, then us-central1',
    doc: 'Location of Vertex AI. Example: `europe-west4`, `global`.',
  }),
  vertexCredentials: jsonOrPath({
    name: 'vertex_credentials',
    aliases: ['vertex_ai_credentials'],
    default: '`VERTEXAI_CREDENTIALS`, `GOOGLE_APPLICATION_CREDENTIALS`, the metadata server',
    secret: true,
    doc: 'Key of a service account, as JSON or as path of the file.',
  }),
  projectId: text({
    name: 'project_id',
    default: '`WATSONX_PROJECT_ID`',
    doc: 'Project of watsonx.',
  }),
  spaceId: text({
    name: 'space_id',
    default: '`WATSONX_SPACE_ID`',
    doc: 'Deployment space of watsonx, if there is no project.',
  }),
  zenApiKey: key({
    name: 'zen_api_key',
    default: '`WATSONX_ZENAPIKEY`',
    secret: true,
    doc: "Zen API key, for watsonx as software outside of IBM's cloud. Replaces `api_key`.",
  }),
  awsRegionName: text({
    name: 'aws_region_name',
    aliases: ['region_name'],
    default: '`AWS_REGION_NAME`, `AWS_REGION`, `AWS_DEFAULT_REGION`, then us-west-2',
    doc: 'Region of AWS.',
  }),
  awsAccessKeyId: text({
    name: 'aws_access_key_id',
    default: '`AWS_ACCESS_KEY_ID`, then [the credentials of the host](providers.md#credentials-of-a-host)',
    secret: true,
    doc: 'Access key of AWS, for signatures.',
  }),
  awsSecretAccessKey: text({
    name: 'aws_secret_access_key',
    default: '`AWS_SECRET_ACCESS_KEY`, then [the credentials of the host](providers.md#credentials-of-a-host)',
    secret: true,
    doc: 'Secret of the access key.',
  }),
  awsSessionToken: text({
    name: 'aws_session_token',
    default: '`AWS_SESSION_TOKEN`',
    secret: true,
    doc: 'Token of temporary access keys.',
  }),
  awsProfileName: text({
    name: 'aws_profile_name',
    default: '`AWS_PROFILE_NAME`, then the access key',
    doc: 'Profile in the files of AWS. A profile may have an access key, a role, SSO or `credential_process`. The profile has priority over access keys.',
  }),
  awsRoleName: text({
    name: 'aws_role_name',
    default: '`AWS_ROLE_NAME`',
    doc: "ARN of a role. The proxy assumes this role with the access key, the profile, or [the host's credentials](providers.md#credentials-of-aws).",
  }),
  awsSessionName: text({
    name: 'aws_session_name',
    default: '`AWS_SESSION_NAME`, `AWS_ROLE_SESSION_NAME`, then model-proxy',
    doc: "Name of the role's session in the logs of AWS.",
  }),
  awsExternalId: text({
    name: 'aws_external_id',
    default: '`AWS_EXTERNAL_ID`',
    doc: "Identifier that the role's owner requires.",
  }),
  awsWebIdentityToken: key({
    name: 'aws_web_identity_token',
    default: '`AWS_WEB_IDENTITY_TOKEN`',
    secret: true,
    doc: 'Token of an identity provider for `aws_role_name`: `oidc/file/PATH`, [another form](providers.md#credentials-of-aws), the absolute path of a file, or the token.',
  }),
  awsStsEndpoint: text({
    name: 'aws_sts_endpoint',
    default: "`AWS_STS_ENDPOINT`, `AWS_ENDPOINT_URL_STS`, then the region's address",
    doc: "Address of AWS's token service.",
  }),
  modelId: text({
    name: 'model_id',
    default: 'the name of the model',
    doc: "ARN of Bedrock's model or inference profile. The name of the model still selects the API.",
  }),
  awsBedrockRuntimeEndpoint: text({
    name: 'aws_bedrock_runtime_endpoint',
    default: '`AWS_BEDROCK_RUNTIME_ENDPOINT`, then the address of the region',
    doc: "Address of Bedrock's runtime, if `api_base` is not set.",
  }),
};
