import { describe, expect, it } from '@jest/globals';
import { configurationFixture, oneModel } from '../../../test/support/configuration.js';

const { faults, load, warnings } = configurationFixture();

describe('a key that is not a setting', () => {
  it.each([
    ['modle_list: []', 'modle_list: is not known; the nearest known name is model_list'],
    ['something: 1', 'something: is not known'],
    ['drop_params: true', 'drop_params: is not known here; it belongs to litellm_settings'],
    [
      'litellm_settings: {drop_param: 1}',
      'litellm_settings.drop_param: is not known; the nearest known name is drop_params',
    ],
    ['settings: {fill_nulls: 1}', 'settings.fill_nulls: is not known'],
    [
      'general_settings: {ssl_verify: false}',
      'general_settings.ssl_verify: is not known here; it belongs to litellm_settings',
    ],
    [
      'router_settings: {model_group_aliases: {}}',
      'router_settings.model_group_aliases: is not known; the nearest known name is model_group_alias',
    ],
  ])('causes a warning, with the nearest name or the right block if there is one: %s', (line, warning) => {
    expect(warnings(oneModel([], `${line}\n`))).toEqual([`config.yaml:6: ${warning}`]);
  });

  it('causes a warning in an entry of model_list, too', () => {
    const text = oneModel([], '    model_inf: {}\n    api_key: x\n    what: 1\n');
    expect(warnings(text)).toEqual([
      'config.yaml:6: model_list[0].model_inf: is not known; the nearest known name is model_info',
      'config.yaml:7: model_list[0].api_key: is not known here; it belongs to litellm_params',
      'config.yaml:8: model_list[0].what: is not known',
    ]);
  });
});

describe("LiteLLM's settings that are ignored", () => {
  it('are listed in one warning for the file, with their lines', () => {
    const text = oneModel(
      ['s3_bucket_name: b', 'max_retries: 2'],
      [
        'litellm_settings: {model_fallbacks: [2], callbacks: [langfuse, prometheus]}',
        'router_settings: {polling_interval: 5}',
        'general_settings: {database_url: "postgres://u:p@h/d"}',
        'mcp_servers: {a: 1}',
        '',
      ].join('\n'),
    );
    expect(warnings(text)).toEqual([
      'config.yaml: not implemented, ignored: litellm_settings.model_fallbacks (line 8), litellm_settings.callbacks (line 8), general_settings.database_url (line 10), router_settings.polling_interval (line 9), mcp_servers (line 11), model_list[0].litellm_params.s3_bucket_name (line 6), model_list[0].litellm_params.max_retries (line 7)',
    ]);
  });

  it('cause no warning if they request nothing, or what the proxy does anyway', () => {
    const text = oneModel(
      ['max_retries: 0'],
      [
        'litellm_settings: {num_retries: 0, fallbacks: [], cache: false, callbacks: ["prometheus"], telemetry: false, turn_off_message_logging: true}',
        'router_settings: {routing_strategy: simple-shuffle}',
        'general_settings: {disable_error_logs: true, enable_jwt_auth: false, enforced_params: []}',
        '',
      ].join('\n'),
    );
    expect(warnings(text)).toEqual([]);
  });
});

describe("LiteLLM's settings that restrict access", () => {
  it.each([
    ['general_settings', 'custom_auth: my.auth', 'custom_auth: authenticates clients'],
    ['general_settings', 'enable_jwt_auth: true', 'enable_jwt_auth: authenticates clients'],
    ['general_settings', 'enable_oauth2_auth: true', 'enable_oauth2_auth: authenticates clients'],
    ['general_settings', 'max_file_size_mb: 0', 'max_file_size_mb: limits requests or tokens'],
    ['general_settings', 'enforced_params: [user]', 'enforced_params: restricts what clients may send'],
    ['general_settings', 'allowed_file_extensions: []', 'allowed_file_extensions: restricts what clients may send'],
    ['litellm_settings', 'max_budget: 0', 'max_budget: limits spending'],
    ['litellm_settings', 'callbacks: [langfuse, hide_secrets]', 'callbacks[1]: rejects or changes requests'],
    ['litellm_settings', 'callbacks: my_hooks.instance', 'callbacks: is custom code, which may reject requests'],
    [
      'litellm_settings',
      'guardrails: [{a: {callbacks: [x]}}, {b: {default_on: true}}]',
      'guardrails[1]: checks every request (default_on)',
    ],
    ['router_settings', 'provider_budget_config: {openai: {}}', 'provider_budget_config: limits spending'],
    ['router_settings', 'enable_tag_filtering: true', 'enable_tag_filtering: reserves deployments for some clients'],
  ])('prevent the start if not implemented, unless start_without names them: %s: %s', (block, line, sentence) => {
    const name = line.replace(/:.*/, '');
    const text = (more: string) => oneModel([], `${block}:\n  ${line}\n${more}`);
    expect(faults(text(''))).toEqual([
      `config.yaml:7: ${block}.${sentence}, and this is not implemented: remove it, or name ${name} in general_settings.start_without`,
    ]);
    const without = `start_without: [${name}]\n`;
    const accepted =
      block === 'general_settings' ? text(`  ${without}`) : text(`general_settings: {${without.trim()}}\n`);
    expect(warnings(accepted)).toEqual([
      `config.yaml: not implemented, ignored: ${block}.${sentence.replace(/: .*/, '')} (line 7)`,
    ]);
  });

  it('prevent the start if not implemented, also at the top of the file and in an entry', () => {
    const fault = (text: string) => faults(text).map((line) => line.replace(/, and this is not implemented.*/, ''));
    const guard = (mode: string) => oneModel([], `guardrails:\n  - {guardrail_name: g, litellm_params: {${mode}}}\n`);
    expect(fault(guard('default_on: true'))).toEqual([
      'config.yaml:7: guardrails[0]: checks every request (default_on)',
    ]);
    expect(warnings(guard('mode: pre_call'))).toEqual(['config.yaml: not implemented, ignored: guardrails (line 6)']);
    expect(fault(oneModel(['max_budget: 0', 'max_file_size_mb: 3', 'guardrails: [pii]']))).toEqual([
      'config.yaml:6: model_list[0].litellm_params.max_budget: limits spending',
      'config.yaml:7: model_list[0].litellm_params.max_file_size_mb: limits requests or tokens',
      'config.yaml:8: model_list[0].litellm_params.guardrails: checks prompts and answers',
    ]);
  });

  it('prevent the start as variables of the environment or of the file, unless start_without names them', () => {
    const origins = 'LITELLM_CORS_ORIGINS: restricts which web pages may send requests';
    const environment = { LITELLM_CORS_ORIGINS: 'https://app.example', DATABASE_URL: 'postgres://u:p@h/d' };
    expect(faults(oneModel(), { environment })).toEqual([expect.stringContaining(`environment: ${origins}`)]);
    expect(faults(oneModel([], 'environment_variables: {LITELLM_CORS_ORIGINS: x}\n'))).toHaveLength(1);
    expect(
      warnings(oneModel([], 'general_settings: {start_without: [LITELLM_CORS_ORIGINS]}\n'), { environment }),
    ).toEqual(['environment: not implemented, ignored: LITELLM_CORS_ORIGINS, DATABASE_URL']);
  });

  it('are not allowed in start_without if they never prevent the start', () => {
    expect(faults(oneModel([], 'general_settings: {start_without: [rmp, max_budget, master_key]}\n'))).toEqual([
      'config.yaml:6: general_settings.start_without[0]: "rmp" is not a setting that prevents the start',
      'config.yaml:6: general_settings.start_without[2]: "master_key" is not a setting that prevents the start',
    ]);
  });

  it.each([
    ['general_settings: {master_kye: k}', 'general_settings.master_kye: is not known; master_key'],
    ['general_settings: {allowed_ip: [10.0.0.1]}', 'general_settings.allowed_ip: is not known; allowed_ips'],
    ['general_settings: {enable_jwt_aut: true}', 'general_settings.enable_jwt_aut: is not known; enable_jwt_auth'],
    ['litellm_settings: {max_budgets: 5}', 'litellm_settings.max_budgets: is not known; max_budget'],
  ])('prevent the start when they are misspelled: %s', (line, sentence) => {
    expect(faults(oneModel([], `${line}\n`))).toEqual([
      `config.yaml:6: ${sentence}, which it may mean, restricts access: correct it or remove it`,
    ]);
  });

  it.each([
    ['litellm_settings: {master_key: x}', 'litellm_settings.master_key', 'general_settings'],
    ['master_key: x', 'master_key', 'general_settings'],
    ['litellm_settings: {allowed_ips: [10.0.0.1]}', 'litellm_settings.allowed_ips', 'general_settings'],
    [
      'general_settings: {require_auth_for_metrics_endpoint: true}',
      'general_settings.require_auth_for_metrics_endpoint',
      'litellm_settings',
    ],
    ['router_settings: {max_parallel_requests: 4}', 'router_settings.max_parallel_requests', 'general_settings'],
  ])('prevent the start in a block where they have no effect: %s', (line, place, block) => {
    expect(faults(oneModel([], `${line}\n`))).toEqual([
      `config.yaml:6: ${place}: restricts access only in ${block}: move it there`,
    ]);
  });

  it('cause only a warning in a wrong block for the master key that LITELLM_MASTER_KEY sets anyway', () => {
    const text = oneModel([], 'litellm_settings: {master_key: os.environ/LITELLM_MASTER_KEY}\n');
    const environment = { LITELLM_MASTER_KEY: 'k' };
    expect(warnings(text, { environment })).toEqual([
      'config.yaml:6: litellm_settings.master_key: is not known here; it belongs to general_settings',
    ]);
    expect(load(text, { environment }).proxy.clientKeys).toEqual(new Set(['k']));
  });
});

describe('model_group_alias', () => {
  const aliases = (value: string) => load(oneModel([], `router_settings:\n  model_group_alias: ${value}\n`)).proxy;

  it('may be a name or a mapping, and the mapping can hide the alias', () => {
    const { modelGroupAlias, hiddenAliases } = aliases(
      '{a: chat, b: {model: chat, hidden: true}, c: {model: chat, hidden: false}}',
    );
    expect(modelGroupAlias).toEqual(
      new Map([
        ['a', 'chat'],
        ['b', 'chat'],
        ['c', 'chat'],
      ]),
    );
    expect(hiddenAliases).toEqual(new Set(['b']));
  });

  it('causes a warning for an unknown group, and a fault for another value', () => {
    expect(warnings(oneModel([], 'router_settings: {model_group_alias: {a: chta}}\n'))).toEqual([
      'config.yaml:6: router_settings.model_group_alias.a: there is no "chta" in model_list',
    ]);
    expect(faults(oneModel([], 'router_settings: {model_group_alias: {a: 5, b: {modle: chat}, c: [chat]}}\n'))).toEqual(
      ['a', 'b', 'c'].map(
        (alias) =>
          `config.yaml:6: router_settings.model_group_alias.${alias}: must be the name of a model group, or a mapping with model and hidden`,
      ),
    );
  });
});
