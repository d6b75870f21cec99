/**
 * Renders docs/reference/providers.md from the table of providers. `npm run generate` writes the
 * page, and a test compares it.
 */
import { awsSections } from './documentation/aws.js';
import { findProvider, knownProviders } from '../providers/index.js';

const introduction = `<!-- Made by \`npm run generate\` from packages/model-proxy/src/config/providers-page.ts: change that, not this. -->

# Providers

\`model\` begins with the name of a provider, for example \`azure/my-deployment\`. The proxy then knows the
address, the headers and the parameters. The names, and the environment variables for address and key,
are LiteLLM's. If the [table](#all-providers) names several variables, the first one that is set has priority.
\`api_base\` and \`api_key\` of an entry override the variables. "Depends" in the table means that other settings are
a part of the address.

## Models that need an entry of their own

A [wildcard](model-proxy-configuration.md#wildcards) such as \`gemini/*\` uses one API for all names, and does not
remove prefixes such as \`model_router/\`. So these models need an entry with the complete name:

| wildcard | models that need an entry |
| --- | --- |
| \`azure/*\` | \`speech/…\`, \`o_series/…\`, \`gpt5_series/…\`, \`responses/…\` |
| \`azure_ai/*\` | \`claude-…\`, \`model_router/…\`, FLUX 2, MAI-Image |
| \`bedrock/*\` | models with [other APIs](#models-of-bedrock-with-other-apis), names with a region or a prefix |
| \`cohere/*\` | \`rerank-…\` |
| \`gemini/*\` | \`gemini…-tts\` |
| \`huggingface/*\` | names with a vendor: \`together/…\` |
| \`vertex_ai/*\` | all except chat models of Gemini |
| \`watsonx/*\` | \`deployment/…\` |

The same applies to an entry with \`model: "*"\`.

## Azure

\`\`\`yaml
model_list:
  - model_name: chat
    litellm_params:
      model: azure/my-deployment
      api_base: https://my-resource.openai.azure.com
      api_version: '2024-10-21'
      api_key: os.environ/AZURE_API_KEY
  - model_name: chat-with-entra
    litellm_params:
      model: azure/my-deployment
      api_base: https://my-resource.openai.azure.com
      api_version: v1
      tenant_id: os.environ/AZURE_TENANT_ID
      client_id: os.environ/AZURE_CLIENT_ID
      client_secret: os.environ/AZURE_CLIENT_SECRET
\`\`\`

- With a dated \`api_version\`, requests go to
  \`/openai/deployments/my-deployment/chat/completions?api-version=…\`. \`v1\`, \`latest\` and \`preview\`
  select \`/openai/v1\`, where the body names the model. There, only requests for images and
  responses contain the version.
- Without a version, requests have \`2025-02-01-preview\`. Requests for \`/v1/responses\` then go to
  \`/openai/v1/responses?api-version=preview\`.
- \`api_base\` may be the complete URL of a deployment, as Azure's pages show it. The deployment and the version in
  this URL have priority.
- A client's own \`api-version\` has no effect.
- Other parameters in the query of \`api_base\`, such as \`subscription-key\` of Azure API Management, are a part of all
  requests.
- The key is sent as \`api-key\`. Without an \`api_key\`, the proxy uses \`azure_ad_token\`, or gets access
  tokens from Microsoft Entra ID for the application in \`client_id\`. On Kubernetes,
  \`AZURE_FEDERATED_TOKEN_FILE\` replaces \`client_secret\`.
- With \`azure_ad_token: oidc/…\`, the proxy exchanges the token of another identity provider for one of
  Microsoft Entra ID: \`oidc/google/AUDIENCE\`, \`oidc/github/AUDIENCE\`, \`oidc/circleci/\`,
  \`oidc/circleci_v2/\`, \`oidc/file/PATH\`, \`oidc/env/VARIABLE\` or \`oidc/env_path/VARIABLE\`.
- The proxy supports no other kinds of credentials, such as managed identities of virtual machines.
- \`azure_ai/\` serves models of other vendors at Foundry and at serverless addresses.
- At \`azure_ai/\`, hosts below \`services.ai.azure.com\`, \`openai.azure.com\` and \`cognitiveservices.azure.com\` get the
  key as \`api-key\`. The same applies to these names with \`azure.us\` or \`azure.cn\`. Other hosts get a bearer token.
  Exceptions: FLUX 2, MAI-Image and addresses of Azure OpenAI always use \`api-key\`, and Claude uses \`x-api-key\`.
- Rankings of Cohere go to \`/v1/rerank\` below \`api_base\`. An \`api_base\` that ends with \`/providers/cohere/v2\`
  selects version 2.
- \`azure_ai/claude-…\` uses Anthropic's API at Foundry, below \`/anthropic\`.

### Images at Azure AI

| \`model\` | path below \`api_base\` | version without \`api_version\` |
| --- | --- | --- |
| \`azure_ai/flux.2-pro\`, and other names of FLUX 2 | \`/providers/blackforestlabs/v1/flux-2-pro\` | \`preview\` |
| \`azure_ai/FLUX.2-flex\` | \`/providers/blackforestlabs/v1/flux-2-flex\` | \`preview\` |
| \`azure_ai/MAI-Image-…\` | \`/mai/v1/images/generations\`, \`/mai/v1/images/edits\` | \`preview\` |
| other models | \`/openai/deployments/…/images/generations\` | \`2025-02-01-preview\` |
| other models | \`/openai/deployments/…/images/edits\` | \`2025-04-01-preview\` |

- \`AZURE_AI_API_VERSION\` replaces these versions, but not those of other requests. \`api_version\` has priority.
- With the version \`v1\`, \`latest\` or \`preview\`, other models have the paths below \`/openai/v1\`.
- For FLUX 2 and MAI-Image, \`api_base\` may also be the complete URL of the model.
- \`size\` becomes \`width\` and \`height\`. MAI-Image makes one picture, of 1024x1024 pixels by default, so its
  \`n\` must be 1.
- FLUX 2 and MAI-Image do not have \`quality\`, \`background\`, \`moderation\`, \`output_compression\`, \`style\`,
  \`response_format\` and \`user\`. The proxy drops them. It forwards other parameters, such as \`seed\`.
- FLUX 2 is not available at \`/v1/images/edits\`. Send the pictures as \`input_image\`, \`input_image_2\`, … in base64 to
  \`/v1/images/generations\`.

## Vertex AI

\`\`\`yaml
model_list:
  - model_name: gemini
    litellm_params:
      model: vertex_ai/gemini-2.5-pro
      vertex_project: my-project
      vertex_location: europe-west4
      vertex_credentials: key.json
\`\`\`

- Gemini, and models such as \`vertex_ai/meta/llama-4-maas\`, use the endpoint with OpenAI's API. A
  number as the name (\`vertex_ai/openai/5464397967697903616\`) selects an endpoint of your own model.
  Mistral and Jamba have their own addresses.
- An \`api_base\` without a path replaces Google's host. Another \`api_base\` names the endpoint.
- \`vertex_location\` is a region, \`global\`, or a group of regions: \`us\` or \`eu\`.
- Google's auth library gets the access tokens: with the key in \`vertex_credentials\`, with
  \`GOOGLE_APPLICATION_CREDENTIALS\`, or from the metadata server. A relative path starts at the working
  directory.
- \`vertex_ai/claude-…\` uses Anthropic's API, as [Anthropic](#anthropic) does.
- Embeddings, Imagen, \`semantic-ranker-…\` and \`vertex_ai/gemma/…\` use Google's own APIs. Inputs of
  \`multimodalembedding@001\` are texts, \`gs://…\` and data URLs. \`gemma/…\` has no streams.
- Models with other APIs are not served: Veo, speech except [Gemini's](#other-vendors-with-their-own-apis), OCR, the
  Live API, Agent Engine.

${awsSections}

## Other vendors with their own APIs

| prefix | serves | limits |
| --- | --- | --- |
| \`watsonx\` | chat, embeddings, ranking, transcriptions | needs \`project_id\` or \`space_id\` |
| \`replicate\` | chat | predictions of at most 60 seconds, no streams |
| \`fal_ai\` | pictures from text | models that answer in the same request |
| \`elevenlabs\` | speech | \`voice\` is the id of a voice |
| \`azure/speech\` | speech | \`mp3\`, \`opus\`, \`wav\` and \`pcm\` |
| \`vertex_ai/gemini…-tts\`, \`gemini/gemini…-tts\` | speech | \`wav\`, with OpenAI's or Gemini's voices |
| \`langgraph\` | chat with an agent | runs without a thread |
| \`gigachat\` | chat, embeddings | functions, but no tools |

- The proxy gets watsonx's access token with the key. \`watsonx/deployment/ID\` is a model in a deployment space:
  it serves chat and transcriptions, but no embeddings and no ranking.
- The proxy gets GigaChat's access tokens with \`GIGACHAT_SCOPE\`. Set \`ssl_verify\` to the CA bundle for
  GigaChat's certificate.

## Amazon Polly

\`aws_polly/neural\` and the other engines of Polly serve \`/v1/audio/speech\`, with
[credentials of AWS](#credentials-of-aws). The proxy replaces OpenAI's voices by the voices of Polly that
LiteLLM uses for them. It forwards other names as voices of Polly. Formats are \`mp3\`, \`opus\` and \`pcm\`.

## Anthropic

\`\`\`yaml
model_list:
  - model_name: claude
    litellm_params:
      model: anthropic/claude-opus-4-6
      api_key: os.environ/ANTHROPIC_API_KEY
\`\`\`

The proxy translates requests to \`/v1/chat/completions\` into Anthropic's Messages API, and
translates answers, streams and errors back.

- System messages, tools, their results, images, PDF files, \`stop\`, \`user\` and \`response_format\` work.
  Images need a data URL or an https URL. Anthropic's API accepts no audio.
- If a request has no \`max_tokens\`, the proxy sends 4096 plus the tokens for thinking.
- The proxy forwards \`thinking\` unchanged. For models before version 4.6, \`reasoning_effort\` becomes
  a number of tokens (1024, 2048 or 4096). For later models, it becomes adaptive thinking with an
  effort.
- Answers contain the thinking twice: as text in \`reasoning_content\`, and with its signatures in
  \`thinking_blocks\`. Send \`thinking_blocks\` back with the message in the next request.
- You can set \`cache_control\` on content parts, messages and tools. \`prompt_tokens\` contains the
  cached tokens, and \`prompt_tokens_details.cached_tokens\` is the number of tokens read from the
  cache.
- The last event of a stream always has \`usage\`.
- Other parameters of Anthropic, such as \`top_k\`, stay unchanged. Beta features need a header: set
  \`extra_headers: {anthropic-beta: …}\`.
- Text completions, embeddings and \`/v1/responses\` get 400, because Anthropic has no such API.
- \`/v1/messages\` and \`/v1/messages/count_tokens\` are forwarded without translation, with the client's
  query, \`anthropic-version\` and \`anthropic-beta\`. A configured version has priority. Configured beta
  features are added to those of the client. Errors have Anthropic's form.
- A translated request has the version 2023-06-01, unless \`extra_headers\` has another
  \`anthropic-version\`.

## Clients of Anthropic

Clients of Anthropic, such as its SDKs and Claude Code, can use every model that has chat. Requests to
\`/v1/messages\` are forwarded without translation to the providers that serve this path: \`anthropic\`,
\`litellm_proxy\`, \`openrouter\`, and Anthropic's models at Azure and Vertex AI. For all others, the proxy makes a
request for chat, and writes the answer, the events and the errors in Anthropic's form.

New versions of vLLM, Ollama and LM Studio also serve this path. If your server does, name its paths in the entry.
The proxy then forwards the requests without translation:

\`\`\`yaml
model_info:
  supported_endpoints: [/v1/messages, /v1/messages/count_tokens]
\`\`\`

- System prompts, tools, results of tools, images, base64 PDF files and text files, stop sequences,
  \`thinking\`, \`output_config\` and \`metadata.user_id\` (its first 64 characters) work.
- \`thinking\` becomes \`reasoning_effort\` if the provider supports this parameter. If your model does not,
  set \`additional_drop_params: [reasoning_effort]\`. The model's thinking comes back as a block without a
  signature. The proxy does not send the thinking of earlier turns.
- The efforts \`max\` and \`xhigh\` become \`xhigh\` for OpenAI's models that have it, and \`high\` for others.
  Exception: a deployment at Azure gets \`xhigh\` unchanged if its name is not that of a model of OpenAI.
- A deployment at Azure with a name of its own gets \`reasoning_effort\` only with the prefix
  \`azure/gpt5_series/\` or \`azure/o_series/\`, or with \`allowed_openai_params: [reasoning_effort]\`.
- Claude at Bedrock gets \`thinking\` and all efforts unchanged. Claude before version 4.6 rejects an effort
  beside \`thinking\`, so the proxy drops the effort. Other models at Bedrock get \`reasoning_effort\`.
- \`cache_control\`, \`is_error\` and \`context_management\` are dropped. Images in results of tools move
  behind the results, because OpenAI's results contain only text.
- Tools and files at Anthropic's servers, \`container\`, \`mcp_servers\` and unknown blocks get 400.
- Gemini 3 must get the signatures of its thoughts back. These signatures are a part of the ids of tool calls, and only
  \`gemini/\` and \`vertex_ai/\` get them. Anthropic's models at Anthropic,
  Azure and Vertex AI get short digests in their place. Other addresses with Anthropic's API get the ids unchanged.
- \`stop_reason\` is \`tool_use\` if the answer calls a tool, also if the upstream's reason is \`stop\`.
- \`usage\` contains the cached tokens that the upstream reports.
- The proxy answers \`/v1/messages/count_tokens\` itself if the upstream does not count. The answer is an
  estimate: for English, code and JSON, it was 1 to 12 % above the number of OpenAI's tokenizer
  \`o200k_base\`, for Russian 15 %. The estimate counts 1000 tokens for each picture.

## Access tokens

The proxy gets the first token at the start, and a new one after four fifths of the lifetime. Requests use
the stored token. If there is none yet, a request waits for it for ten seconds at most, and not longer than its
[time limits](model-proxy-configuration.md#time-limits). All entries with the same
credentials share a token.

- If the identity provider rejects the credentials, clients get 401 with its reason. If it does not
  answer, they get 503 with \`Retry-After\`. The proxy tries again after five seconds at the earliest.
- Tokens and secrets are never logged.
- \`litellm_settings.ssl_verify\` also applies to the connection to the identity provider, but
  \`ssl_verify\` of an entry does not.

## Gemini

\`gemini/\` uses Gemini's OpenAI API. If \`api_base\` ends with \`/v1beta\`, \`/v1alpha\` or \`/v1\`, the proxy adds
\`/openai\`.

Google's SDKs reach Gemini's own API below \`/gemini/\`, if an entry of \`gemini/\` has
\`use_in_pass_through: true\`. The SDKs send the client's key in \`x-goog-api-key\`:

\`\`\`js
const { GoogleGenAI } = await import('@google/genai');
new GoogleGenAI({ apiKey: 'sk-client', httpOptions: { baseUrl: 'http://127.0.0.1:4000/gemini' } });
\`\`\`

## Ollama

\`ollama/\` and \`ollama_chat/\` use Ollama's OpenAI API. The proxy adds \`/v1\` to \`api_base\`.

## Mistral and Cohere

- The proxy adds \`/v1\` to the \`api_base\` of \`mistral/\`, if it is missing.
- \`cohere/\` uses Cohere's OpenAI API, also if \`api_base\` has the path of Cohere's own API, such as
  \`https://api.cohere.com/v2/chat\`. Rankings go to \`/v2/rerank\` below \`api_base\`, or to \`/rerank\` if
  \`api_base\` ends with \`/v1\` or \`/v2\`.

## All providers
`;

const code = (text: string) => `\`${text}\``;
const list = (names: readonly string[]) => names.map(code).join(', ');

/** Renders the whole page, with a newline at the end. */
export function renderProvidersPage(): string {
  const rows = knownProviders.map((name) => {
    const { defaultApiBase, targetOf, apiBaseEnvironment, apiKeyEnvironment } = findProvider(name);
    const address = defaultApiBase ?? (targetOf === undefined ? 'required' : 'depends');
    return `| ${code(name)} | ${address} | ${list(apiBaseEnvironment)} | ${list(apiKeyEnvironment)} |`;
  });
  return [
    introduction,
    '| Prefix | Address | Variables for the address | Variables for the key |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
