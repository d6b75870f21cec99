/** Sections of docs/reference/providers.md about Bedrock and SageMaker. The proxy does not load this file. */

/** Bedrock, its credentials, and SageMaker. */
export const awsSections = `## Amazon Bedrock

\`\`\`yaml
model_list:
  - model_name: claude
    litellm_params:
      model: bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0
      aws_region_name: eu-west-1
      aws_access_key_id: os.environ/AWS_ACCESS_KEY_ID
      aws_secret_access_key: os.environ/AWS_SECRET_ACCESS_KEY
\`\`\`

The proxy translates requests to \`/v1/chat/completions\` and \`/v1/messages\` into Bedrock's Converse API,
and translates answers, event streams and errors back.

- \`model\` names a model or an inference profile, or has an ARN. \`bedrock/converse/…\` and
  \`bedrock_converse/…\` mean the same as \`bedrock/…\`. A region in the name, or in the ARN, applies if
  \`aws_region_name\` and the variables for the region are not set.
- The proxy signs requests with [credentials of AWS](#credentials-of-aws). With an API key of Bedrock
  (\`AWS_BEARER_TOKEN_BEDROCK\`), requests are not signed.
- System messages, tools, their results, images, files, \`stop\`, \`response_format\` and
  \`cache_control\` work. Images and files need a data URL.
- Parameters that Converse does not have, such as \`top_k\`, become \`additionalModelRequestFields\`.
  \`guardrailConfig\`, \`performanceConfig\`, \`requestMetadata\` and \`serviceTier\` stay unchanged.
- Models of Anthropic get \`thinking\` and \`reasoning_effort\` as at \`anthropic/\`. Other models get
  \`reasoning_effort\` unchanged.
- \`bedrock/openai.gpt-oss-120b-1:0\` and \`bedrock_mantle/…\` use Bedrock's endpoints with OpenAI's API if
  there is an API key of Bedrock.
- \`model_id\` is the ARN that requests use. The name in \`model\` then only selects the API.
- AgentCore, videos, speech, edits of pictures and the embeddings of TwelveLabs are not served.

### Models of Bedrock with other APIs

| \`model\` | requests |
| --- | --- |
| \`bedrock/invoke/…claude…\` | InvokeModel with Anthropic's form |
| \`bedrock/invoke/…\` of other vendors | Converse |
| \`bedrock/llama/ARN\`, \`deepseek_r1/ARN\`, \`nova/ARN\` | imported models, with Converse |
| \`bedrock/openai/ARN\`, \`qwen2/ARN\`, \`qwen3/ARN\` | imported models, with OpenAI's form in InvokeModel |
| \`amazon.titan-embed-…\`, \`cohere.embed-…\`, \`amazon.nova-2-multimodal-…\` | \`/v1/embeddings\` |
| \`amazon.nova-canvas…\`, \`amazon.titan-image…\`, \`stability.…\` | \`/v1/images/generations\` |
| \`…rerank…\` | \`/v1/rerank\` |
| \`bedrock/agent/AGENT/ALIAS\` | an agent, as chat |

- OpenAI's form of imported models needs a model that was imported after November 11, 2025.
- Amazon's models for embeddings accept one text in each request, Cohere's accept several. \`input_type\`,
  \`truncate\` and \`normalize\` go to the model. A data URL of a picture works for models that embed
  pictures.
- Stability's models (\`sd3\`, \`stable-image-core\`, \`stable-image-ultra\`) use only the aspect ratio of
  \`size\`.
- An agent gets all messages as one text, in a new session. With \`sessionID\` in the request, the agent gets the
  last message in that session.

### Credentials of AWS

The proxy uses the first of these sources that the configuration has. The settings are those of
\`litellm_params\`. Each has a variable with the same name in capitals.

| settings | credentials |
| --- | --- |
| \`aws_web_identity_token\` and \`aws_role_name\` | the role, for a token of an identity provider |
| \`aws_profile_name\` | a profile of \`~/.aws/config\` and \`~/.aws/credentials\` |
| \`aws_access_key_id\`, \`aws_secret_access_key\`, \`aws_session_token\` | an access key |
| none of these | [the host's](#credentials-of-a-host) |

- With \`aws_role_name\`, the proxy assumes the role with the profile, with the access key or with the
  host's credentials. \`aws_session_name\` and \`aws_external_id\` go to AWS's token service (STS).
- A profile may have an access key, a role, a web identity, SSO or \`credential_process\`.
  \`aws sso login\` starts a session of SSO. The proxy cannot ask for a code of a second factor.
- \`aws_web_identity_token\` is \`oidc/file/PATH\`, \`oidc/env/VARIABLE\`, \`oidc/env_path/VARIABLE\`,
  \`oidc/google/AUDIENCE\`, \`oidc/github/AUDIENCE\`, \`oidc/circleci/\`, \`oidc/circleci_v2/\`, the
  absolute path of a file, or the token itself.
- Requests to STS and SSO use the certificates of \`litellm_settings.ssl_verify\`, and the forward proxy.
  \`aws_sts_endpoint\` replaces the address of STS.
- The proxy gets new credentials before the current ones expire. It reads a profile with an access key
  again every four minutes. A request waits for at most 10 seconds for credentials. Requests that need no
  credentials do not wait.
- If AWS rejects the credentials, clients get 401 with the reason. If AWS does not answer, they get 503.

#### Credentials of a host

The proxy looks for credentials in these places, in this order:

1. The profile of \`AWS_PROFILE\`, or \`default\`.
2. \`AWS_ROLE_ARN\` and \`AWS_WEB_IDENTITY_TOKEN_FILE\`, which EKS sets for service accounts.
3. \`AWS_CONTAINER_CREDENTIALS_RELATIVE_URI\` (ECS) or \`AWS_CONTAINER_CREDENTIALS_FULL_URI\` (EKS Pod
   Identity).
4. The metadata server of the virtual machine. \`AWS_EC2_METADATA_DISABLED=true\` skips it.

Some variables work only in the environment of the process, not in \`environment_variables\`: \`HOME\`, and
all that this page does not name, such as \`AWS_EC2_METADATA_SERVICE_ENDPOINT\`. For SSO, this also applies to
\`AWS_CONFIG_FILE\` and \`AWS_SHARED_CREDENTIALS_FILE\`.

## Amazon SageMaker

\`\`\`yaml
model_list:
  - model_name: my-model
    litellm_params:
      model: sagemaker_chat/my-endpoint
      aws_region_name: eu-west-1
\`\`\`

The name of the model is that of the endpoint. [Credentials of AWS](#credentials-of-aws) sign
the requests.

- \`sagemaker_chat/…\` is for containers with OpenAI's API for chat, which know the model's template.
- \`sagemaker/…\` is for containers with Hugging Face's API for text. The texts of all messages form one
  prompt. Text completions, and the embeddings of JumpStart's models, work too.
- A \`temperature\` of 0 becomes \`do_sample: false\`, because these containers reject 0.`;
