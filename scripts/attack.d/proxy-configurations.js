/** Attacks on the proxy's configuration: what one wrong letter, or one setting that is not built, must not open. */
import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { oneModel, validate } from './daemons.js';
import { PATIENCE } from './wire.js';

const guessedKeys = [
  ['claude-opus-4-1', 'sk-ant'],
  ['gemini-2.5-pro', 'x'],
  ['mistral-large', 'x'],
  ['command-r-plus', 'x'],
  ['"*"', 'x'],
];

const vendorAttack = {
  name: 'models without a provider, with a key of some vendor',
  holds: 'no key goes to a vendor that is a guess: the file is refused, or the entry is not served',
  seconds: 90,
  run: async (arena) => {
    const { tree } = arena;
    for (const [model, key] of guessedKeys) {
      const text = `model_list: [{model_name: a, litellm_params: {model: ${model}, api_key: ${key}}}]\n`;
      const { output } = await validate(tree, text, { OPENAI_API_KEY: 'sk-openai' });
      const isTold = /has an API of its own|does not say which provider|provider of this key/.test(output);
      if (!isTold || output.includes('api.openai.com')) throw new Error(`${model}: ${output.slice(0, 300)}`);
    }
  },
};

const restricting = [
  'general_settings: {enable_jwt_auth: true}',
  'general_settings: {max_parallel_requests: 1}',
  'general_settings: {master_kye: x}',
  'general_settings: {allowed_routes: []}',
  'litellm_settings: {max_budget: 0}',
  'litellm_settings: {master_key: x}',
  'litellm_settings: {callbacks: [hide_secrets]}',
  'router_settings: {provider_budget_config: {openai: {budget_limit: 1}}}',
  'guardrails: [{guardrail_name: g, litellm_params: {default_on: true}}]',
];

const settingsAttack = {
  name: 'settings that restrict access and are not implemented, or misspelled',
  holds: 'each stops the start, and names its line',
  seconds: 90,
  run: async (arena) => {
    const chosen = arena.isLong ? restricting : arena.random.shuffle(restricting).slice(0, 6);
    for (const more of chosen) {
      const { status, output } = await validate(arena.tree, oneModel(9, '', `${more}\n`));
      if (status === 0 || !/config\.yaml:\d+: \w/.test(output))
        throw new Error(`${more}: exit code ${status}: ${output.slice(0, 300)}`);
    }
  },
};

const reloadAttack = {
  name: 'reloads of files without models, of damaged files and of random bytes',
  holds: 'the former models stay, and the log says why',
  seconds: 90,
  run: async (arena) => {
    const good = oneModel(9);
    const daemon = await arena.startProxy(good);
    const files = {
      'a misspelled model_list': good.replace('model_list', 'model_lits'),
      'an empty list': 'model_list: []\n',
      'models that cannot be served': 'model_list: [{model_name: m, litellm_params: {model: bedrock/x}}]\n',
      'half of the file': good.slice(0, 60),
      nothing: '',
      'random bytes': arena.random.bytes(500),
      'aliases that grow': `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
        .split('')
        .map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]},`.repeat(9)}]\n`)
        .join('')}`,
    };
    try {
      let refused = 0;
      for (const [what, text] of Object.entries(files)) {
        writeFileSync(daemon.file, text);
        daemon.signal('SIGHUP');
        refused += 1;
        for (
          const end = Date.now() + PATIENCE * 1000;
          daemon.output.split('the old one stays').length <= refused;
          await delay(20)
        ) {
          if (!daemon.isAlive) throw new Error(`${what}: the process ended: ${daemon.output.slice(-300)}`);
          if (Date.now() > end)
            throw new Error(`${what}: the log does not say that the old one stays: ${daemon.output.slice(-500)}`);
        }
        refused = daemon.output.split('the old one stays').length - 1;
        const { json } = await daemon.ask({ path: '/v1/models' });
        if (json?.data?.length !== 1) throw new Error(`${what}: ${json?.data?.length} models are left`);
      }
      const code = await daemon.stop();
      if (code !== 0) throw new Error(`SIGTERM: exit code ${code}`);
    } finally {
      await daemon.kill();
    }
  },
};

export const configurations = [vendorAttack, settingsAttack, reloadAttack];
