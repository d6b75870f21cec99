import { describe, expect, it } from '@jest/globals';
import { configurationFixture, oneModel } from '../../test/support/configuration.js';

const { faults, load, warnings } = configurationFixture();

describe('a key that is no setting', () => {
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
      'litellm_settings: {master_key: x}',
      'litellm_settings.master_key: is not known here; it belongs to general_settings',
    ],
    [
      'general_settings: {ssl_verify: false}',
      'general_settings.ssl_verify: is not known here; it belongs to litellm_settings',
    ],
    [
      'router_settings: {model_group_aliases: {}}',
      'router_settings.model_group_aliases: is not known; the nearest known name is model_group_alias',
    ],
  ])('%s is a warning with the nearest name, or its block (C3)', (line, warning) => {
    expect(warnings(oneModel([], `${line}\n`))).toEqual([`config.yaml:6: ${warning}`]);
  });

  it('of an entry is one, too (C3)', () => {
    const text = oneModel([], '    model_inf: {}\n    api_key: x\n    what: 1\n');
    expect(warnings(text)).toEqual([
      'config.yaml:6: model_list[0].model_inf: is not known; the nearest known name is model_info',
      'config.yaml:7: model_list[0].api_key: is not known here; it belongs to litellm_params',
      'config.yaml:8: model_list[0].what: is not known',
    ]);
  });
});

describe("LiteLLM's settings that are not built yet", () => {
  it('are said in one line for each file (C2, C3)', () => {
    const text = oneModel(
      ['rpm: 5', 'max_retries: 2'],
      [
        'litellm_settings: {num_retries: 2, callbacks: [langfuse, prometheus]}',
        'router_settings: {routing_strategy: least-busy}',
        'general_settings: {database_url: "postgres://u:p@h/d"}',
        'mcp_servers: {a: 1}',
        '',
      ].join('\n'),
    );
    expect(warnings(text)).toEqual([
      'config.yaml: not built yet, ignored: litellm_settings.num_retries (line 8), litellm_settings.callbacks (line 8), general_settings.database_url (line 10), router_settings.routing_strategy (line 9), mcp_servers (line 11), model_list[0].litellm_params.rpm (line 6), model_list[0].litellm_params.max_retries (line 7)',
    ]);
  });

  it('are not worth a word where they ask for nothing, or for what is so anyway (C3)', () => {
    const text = oneModel(
      ['max_retries: 0'],
      [
        'litellm_settings: {num_retries: 0, fallbacks: [], cache: false, callbacks: ["prometheus"], telemetry: false, turn_off_message_logging: true}',
        'router_settings: {routing_strategy: simple-shuffle}',
        'general_settings: {disable_spend_logs: true, enable_jwt_auth: false, allowed_routes: []}',
        '',
      ].join('\n'),
    );
    expect(warnings(text)).toEqual([]);
  });

  it.each(['custom_auth: my.auth', 'enable_jwt_auth: true', 'allowed_ips: ["10.0.0.1"]', 'enable_oauth2_auth: true'])(
    'stop the start where they would have kept somebody out: %s (C3, C9)',
    (line) => {
      expect(faults(oneModel([], `general_settings:\n  master_key: k\n  ${line}\n`))).toEqual([
        `config.yaml:8: general_settings.${line.replace(/:.*/, '')}: is not built yet, and without it the proxy would be more open than this file says`,
      ]);
    },
  );
});

describe('model_group_alias', () => {
  const aliases = (value: string) => load(oneModel([], `router_settings:\n  model_group_alias: ${value}\n`)).proxy;

  it('has two forms, one of which can hide it (C4)', () => {
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

  it('of a group that is not there is a warning, of something else a fault (C3)', () => {
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
