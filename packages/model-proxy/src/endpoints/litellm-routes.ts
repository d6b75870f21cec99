/**
 * Routes of LiteLLM's proxy that this proxy does not implement. The answer is a 501 with a link to
 * LiteLLM's page, because a 404 would look like a spelling mistake of the client.
 */

const DOCS = 'https://docs.litellm.ai/docs/';

/**
 * Pages of LiteLLM's documentation → first segments of the routes that they describe, without the version.
 */
const pages: Readonly<Record<string, readonly string[]>> = {
  'proxy/virtual_keys': ['key', 'sso', 'login', 'invitation', 'jwt'],
  'proxy/users': ['user', 'customer', 'end_user', 'budget', 'provider'],
  'proxy/access_control': ['team', 'organization', 'project', 'scim', 'access_group', 'unified_access_group'],
  'proxy/cost_tracking': ['spend', 'global', 'tag', 'cost', 'usage', 'cloudzero', 'vantage'],
  'proxy/model_management': ['model', 'model_group', 'credentials', 'update', 'reload', 'get'],
  'proxy/fallback_management': ['fallback'],
  'proxy/config_settings': ['config', 'settings', 'callbacks', 'active', 'debug', 'audit'],
  'proxy/alerting': ['alerting'],
  'proxy/caching': ['cache'],
  'proxy/health': ['health'],
  'proxy/guardrails/quick_start': ['guardrails', 'policies', 'apply_guardrail'],
  'proxy/guardrails/guardrail_policies': ['policy'],
  'proxy/prompt_management': ['prompts'],
  'proxy/auto_routing': ['auto_router', 'adaptive_router'],
  'proxy/ai_hub': ['public', 'model_hub'],
  'proxy/email': ['email'],
  'secret_managers/overview': ['config_overrides'],
  count_tokens: ['utils'],
  mcp: ['mcp', 'mcp-rest', 'toolset'],
  a2a: ['a2a', 'agents', 'agent'],
  skills: ['skills'],
  anthropic_unified: ['messages'],
  generateContent: ['models', 'interactions'],
  response_api: ['responses'],
  assistants: ['assistants', 'threads'],
  fine_tuning: ['fine_tuning'],
  'vector_stores/create': ['vector_stores', 'vector_store', 'indexes'],
  rag_ingest: ['rag'],
  containers: ['containers'],
  videos: ['videos'],
  ocr: ['ocr'],
  'search/index': ['search', 'search_tools'],
  realtime: ['realtime', 'live'],
  evals_api: ['evals'],
  'pass_through/intro': [
    ...[
      'anthropic',
      'assemblyai',
      'eu.assemblyai',
      'azure',
      'azure_ai',
      'bedrock',
      'cohere',
      'cursor',
      'gemini',
      'langfuse',
    ],
    ...['milvus', 'mistral', 'vertex_ai', 'vertex-ai', 'azure_speech', 'comprehendmedical', 'fal_ai', 'gigachat'],
    ...['nvidia_nim', 'openrouter', 'tinyfish', 'transcribe', 'typesafe', 'watsonx'],
  ],
};

const pageBySegment = new Map(
  Object.entries(pages).flatMap(([page, segments]) => segments.map((segment) => [segment, page] as const)),
);

/**
 * Finds LiteLLM's documentation of a path that this proxy does not serve.
 * @param path without query, and without doubled slashes.
 * @returns a URL; undefined: no page describes routes with this first segment.
 */
export function litellmRoutePage(path: string): string | undefined {
  const [segment = ''] = path
    .replace(/^\/(?:v1(?:beta|alpha)?|v2)(?=\/)/, '')
    .slice(1)
    .split('/', 1);
  const page = pageBySegment.get(segment);
  return page === undefined ? undefined : DOCS + page;
}
