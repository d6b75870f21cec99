/**
 * More vendors with OpenAI's API at one address, as in compatible.ts: prefix of `model`, address (null: it must be
 * configured), variables for the key, variables for the address. Spaces separate the variables, and the first
 * that is set counts. The prefixes and variables are LiteLLM's.
 */
import type { Provider } from '../provider.js';
import { openaiApiProvider } from './openai.js';

type Row = readonly [name: string, address: string | null, keys: string, addresses?: string];

const rows: readonly Row[] = [
  ['abliteration', 'https://api.abliteration.ai/v1', 'ABLITERATION_API_KEY'],
  ['ai21', 'https://api.ai21.com/studio/v1', 'AI21_API_KEY', 'AI21_API_BASE'],
  ['ai21_chat', 'https://api.ai21.com/studio/v1', 'AI21_API_KEY', 'AI21_API_BASE'],
  ['aihubmix', 'https://aihubmix.com/v1', 'AIHUBMIX_API_KEY', 'AIHUBMIX_API_BASE'],
  ['aiml', 'https://api.aimlapi.com/v1', 'AIML_API_KEY AIMLAPI_KEY', 'AIML_API_BASE'],
  ['amazon_nova', 'https://api.nova.amazon.com/v1', 'AMAZON_NOVA_API_KEY', 'AMAZON_NOVA_API_BASE'],
  ['anyscale', 'https://api.endpoints.anyscale.com/v1', 'ANYSCALE_API_KEY', 'ANYSCALE_API_BASE'],
  ['apertis', 'https://api.stima.tech/v1', 'STIMA_API_KEY'],
  ['assemblyai', 'https://llm-gateway.assemblyai.com/v1', 'ASSEMBLYAI_API_KEY'],
  ['baseten', 'https://inference.baseten.co/v1', 'BASETEN_API_KEY', 'BASETEN_API_BASE'],
  ['bytez', 'https://api.bytez.com/models/v2/openai/v1', 'BYTEZ_API_KEY', 'BYTEZ_API_BASE'],
  ['chutes', 'https://llm.chutes.ai/v1', 'CHUTES_API_KEY'],
  ['cometapi', 'https://api.cometapi.com/v1', 'COMETAPI_KEY COMETAPI_API_KEY', 'COMETAPI_BASE_URL COMETAPI_API_BASE'],
  ['compactifai', 'https://api.compactif.ai/v1', 'COMPACTIFAI_API_KEY'],
  ['crusoe', 'https://managed-inference-api-proxy.crusoecloud.com/v1', 'CRUSOE_API_KEY', 'CRUSOE_API_BASE'],
  ['dashscope', 'https://dashscope.aliyuncs.com/compatible-mode/v1', 'DASHSCOPE_API_KEY', 'DASHSCOPE_API_BASE'],
  [
    'docker_model_runner',
    'http://localhost:22088/engines/llama.cpp',
    'DOCKER_MODEL_RUNNER_API_KEY',
    'DOCKER_MODEL_RUNNER_API_BASE',
  ],
  ['edenai', 'https://api.edenai.run/v3', 'EDENAI_API_KEY', 'EDENAI_API_BASE'],
  ['empower', 'https://app.empower.dev/api/v1', 'EMPOWER_API_KEY', 'EMPOWER_API_BASE'],
  [
    'featherless_ai',
    'https://api.featherless.ai/v1',
    'FEATHERLESS_AI_API_KEY FEATHERLESS_API_KEY',
    'FEATHERLESS_API_BASE FEATHERLESS_AI_API_BASE',
  ],
  ['galadriel', 'https://api.galadriel.com/v1', 'GALADRIEL_API_KEY', 'GALADRIEL_API_BASE'],
  ['gmi', 'https://api.gmi-serving.com/v1', 'GMI_API_KEY'],
  ['helicone', 'https://ai-gateway.helicone.ai', 'HELICONE_API_KEY'],
  ['hyperbolic', 'https://api.hyperbolic.xyz/v1', 'HYPERBOLIC_API_KEY', 'HYPERBOLIC_API_BASE'],
  ['inception', 'https://api.inceptionlabs.ai/v1', 'INCEPTION_API_KEY', 'INCEPTION_API_BASE'],
  ['infinity', null, 'INFINITY_API_KEY', 'INFINITY_API_BASE'],
  ['jina_ai', 'https://api.jina.ai/v1', 'JINA_AI_API_KEY JINA_AI_TOKEN JINA_API_KEY', 'JINA_AI_API_BASE'],
  ['lambda_ai', 'https://api.lambda.ai/v1', 'LAMBDA_API_KEY', 'LAMBDA_API_BASE'],
  ['lemonade', 'http://localhost:8000/api/v1', 'LEMONADE_API_KEY', 'LEMONADE_API_BASE'],
  ['llamagate', 'https://api.llamagate.dev/v1', 'LLAMAGATE_API_KEY'],
  ['maritalk', 'https://chat.maritaca.ai/api', 'MARITALK_API_KEY', 'MARITALK_API_BASE'],
  ['meta', 'https://api.meta.ai/v1', 'META_API_KEY', 'META_API_BASE'],
  ['minimax', 'https://api.minimax.io/v1', 'MINIMAX_API_KEY', 'MINIMAX_API_BASE'],
  ['modelscope', 'https://api-inference.modelscope.cn/v1', 'MODELSCOPE_API_KEY', 'MODELSCOPE_API_BASE'],
  ['moonshot', 'https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY', 'MOONSHOT_API_BASE'],
  ['morph', 'https://api.morphllm.com/v1', 'MORPH_API_KEY', 'MORPH_API_BASE'],
  ['nano-gpt', 'https://nano-gpt.com/api/v1', 'NANOGPT_API_KEY'],
  ['nebius', 'https://api.studio.nebius.ai/v1', 'NEBIUS_API_KEY', 'NEBIUS_API_BASE'],
  ['novita', 'https://api.novita.ai/v3/openai', 'NOVITA_API_KEY', 'NOVITA_API_BASE'],
  ['nscale', 'https://inference.api.nscale.com/v1', 'NSCALE_API_KEY', 'NSCALE_API_BASE'],
  ['ovhcloud', 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1', 'OVHCLOUD_API_KEY', 'OVHCLOUD_API_BASE'],
  ['parasail', 'https://api.parasail.io/v1', 'PARASAIL_API_KEY', 'PARASAIL_API_BASE'],
  ['poe', 'https://api.poe.com/v1', 'POE_API_KEY'],
  ['publicai', 'https://api.publicai.co/v1', 'PUBLICAI_API_KEY', 'PUBLICAI_API_BASE'],
  ['recraft', 'https://external.api.recraft.ai/v1', 'RECRAFT_API_KEY', 'RECRAFT_API_BASE'],
  ['scaleway', 'https://api.scaleway.ai/v1', 'SCW_SECRET_KEY'],
  ['synthetic', 'https://api.synthetic.new/openai/v1', 'SYNTHETIC_API_KEY'],
  ['tencent', 'https://tokenhub-intl.tencentcloudmaas.com/v1', 'TENCENT_API_KEY', 'TENCENT_API_BASE'],
  ['v0', 'https://api.v0.dev/v1', 'V0_API_KEY', 'V0_API_BASE'],
  ['veniceai', 'https://api.venice.ai/api/v1', 'VENICE_AI_API_KEY'],
  ['voyage', 'https://api.voyageai.com/v1', 'VOYAGE_API_KEY VOYAGE_AI_API_KEY VOYAGE_AI_TOKEN', 'VOYAGE_API_BASE'],
  ['wandb', 'https://api.inference.wandb.ai/v1', 'WANDB_API_KEY', 'WANDB_API_BASE'],
  ['xiaomi_mimo', 'https://api.xiaomimimo.com/v1', 'XIAOMI_MIMO_API_KEY'],
  ['xinference', 'http://127.0.0.1:9997/v1', 'XINFERENCE_API_KEY', 'XINFERENCE_API_BASE'],
  ['zai', 'https://api.z.ai/api/paas/v4', 'ZAI_API_KEY', 'ZAI_API_BASE'],
];

const namesIn = (list: string): readonly string[] => list.split(' ').filter((name) => name !== '');

/** The vendors of the table. */
export const vendors: readonly Provider[] = rows.map(([name, address, keys, addresses = '']) =>
  openaiApiProvider({
    name,
    apiKeyEnvironment: namesIn(keys),
    apiBaseEnvironment: namesIn(addresses),
    ...(address === null ? {} : { defaultApiBase: address }),
  }),
);
