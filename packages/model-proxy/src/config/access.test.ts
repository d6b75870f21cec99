import { describe, expect, it } from '@jest/globals';
import { renderEffectiveConfig } from './effective.js';
import { configurationFixture, oneModel } from '../../test/support/configuration.js';

const { faults, load } = configurationFixture();

const general = (line: string, key = 'master_key: k, ') => oneModel([], `general_settings: {${key}${line}}\n`);

describe('settings that restrict access', () => {
  it('are read from LiteLLM’s settings', () => {
    const { proxy } = load(
      oneModel(
        [],
        [
          'litellm_settings: {require_auth_for_metrics_endpoint: true}',
          'general_settings:',
          '  master_key: k',
          '  allowed_ips: [10.0.0.7, "fd00::/8"]',
          '  use_x_forwarded_for: true',
          '  allowed_routes: [/v1/chat/completions, "/vllm/*"]',
          '  admin_only_routes: [/routes]',
          '  enforce_user_param: true',
          '',
        ].join('\n'),
      ),
    );
    expect(proxy).toMatchObject({
      allowedIps: ['10.0.0.7', 'fd00::/8'],
      useXForwardedFor: true,
      allowedRoutes: ['/v1/chat/completions', '/vllm/*'],
      enforceUserParam: true,
    });
    expect(proxy.masterKeyRoutes).toEqual(new Set(['/routes', '/metrics']));
  });

  it.each([
    [
      'allowed_ips: [10.0.0.300]',
      'allowed_ips[0]: must be an IP address or a subnet such as 10.0.0.0/8, not the string',
    ],
    ['allowed_ips: [10.0.0.0/33]', 'allowed_ips[0]: must be an IP address or a subnet'],
    ['allowed_ips: [host.example]', 'allowed_ips[0]: must be an IP address or a subnet'],
    ['allowed_ips: []', 'allowed_ips: must be a list of IP addresses that is not empty'],
    ['allowed_ips: 10.0.0.1', 'allowed_ips: must be a list of IP addresses'],
    ['allowed_routes: [chat]', 'allowed_routes[0]: must be a path such as /v1/chat/completions or /vllm/*'],
    ['allowed_routes: ["/a/*/b"]', 'allowed_routes[0]: must be a path such as'],
    ['admin_only_routes: ["/*"]', 'admin_only_routes[0]: must be a path such as /metrics, without *'],
    ['admin_only_routes: [/metric]', 'admin_only_routes[0]: there is no /metric: did you mean /metrics?'],
    ['admin_only_routes: [/Routes]', 'admin_only_routes[0]: there is no /Routes: did you mean /routes?'],
    [
      'admin_only_routes: [/metrics, /health/livelines]',
      'admin_only_routes[1]: there is no /health/livelines: did you mean /health/liveliness?',
    ],
    ['admin_only_routes: [/nowhere]', 'admin_only_routes[0]: there is no /nowhere'],
    ['admin_only_routes: ["/models/{id}"]', 'admin_only_routes[0]: must be a real path: a name in braces stands for'],
    [
      'admin_only_routes: [/engines/m/completions]',
      'admin_only_routes[0]: cannot restrict one model of an endpoint to the master key: write /v1/completions, or limit the models of the keys',
    ],
    ['allowed_routes: []', 'allowed_routes: must be a list of paths that is not empty'],
    ['enforce_user_param: perhaps', 'enforce_user_param: must be true or false'],
  ])('are faults if they are not valid: %s', (line, message) => {
    expect(faults(general(line))).toEqual([expect.stringContaining(`general_settings.${message}`)]);
  });

  it.each([
    ['/metrics/', ['/metrics']],
    ['/health/liveness', ['/health/liveliness', '/health/liveness']],
    ['/models', ['/v1/models', '/models']],
    ['/chat/completions', ['/v1/chat/completions', '*/chat/completions']],
    ['/fim/completions', ['/v1/fim/completions', '*/fim/completions']],
    ['/v1/batches', ['*/batches']],
    ['/openai/v1/batches', ['*/batches']],
    ['/hosted_vllm/v1/files', ['*/files']],
    ['/v1/responses/resp_1', ['*/responses/resp_1']],
    ['/openai/v1/responses/resp_1', ['/openai/responses/resp_1']],
    ['/key/info', ['/key/info']],
    ['/openai/v1/Fine%5ftuning/jobs', ['/openai/fine_tuning/jobs']],
    ['/models/a%2Fb', ['/models/a/b', '/v1/models/a/b']],
  ])('restrict all paths of a route to the master key: %s', (entry, names) => {
    const { masterKeyRoutes } = load(
      general(`forwarded_paths: [fim/completions], admin_only_routes: [${entry}]`),
    ).proxy;
    expect([...masterKeyRoutes].sort()).toEqual([...names].sort());
  });

  it.each([
    ...['/metrics/', '/health/liveness', '/fim/completions', '/models/a%2Fb', '/v1/batches', '/v1/chat/completions'],
    ...['/hosted_vllm/v1/files', '/openai/a%2520b', '/openai/v1/Fine%5ftuning/jobs', '/v1/responses/resp_1'],
  ])('restrict the same routes after a reload of the printed configuration: %s', (entry) => {
    const loaded = load(general(`forwarded_paths: [fim/completions], admin_only_routes: ["${entry}"]`));
    const printed = renderEffectiveConfig(loaded);
    expect(printed).toContain(`  admin_only_routes: ["${entry}"]\n`);
    const again = load(printed.replace('  master_key: "***"', '  master_key: k'));
    expect(again.proxy.masterKeyRoutes).toEqual(loaded.proxy.masterKeyRoutes);
  });

  it.each(['/model/info', '/v1/model/info'])('restrict both paths of the model information: %s', (entry) => {
    const { masterKeyRoutes } = load(general(`admin_only_routes: [${entry}]`)).proxy;
    expect(masterKeyRoutes).toEqual(new Set(['/model/info', '/v1/model/info']));
  });

  it.each(['/models/gpt/4', '/v1/models/gpt/4'])('restrict both paths of a model: %s', (entry) => {
    const { masterKeyRoutes } = load(general(`admin_only_routes: [${entry}]`)).proxy;
    expect(masterKeyRoutes).toEqual(new Set(['/models/gpt/4', '/v1/models/gpt/4']));
  });

  it('need a master key if they require the key for a page', () => {
    const sentence = 'needs general_settings.master_key: no key is configured';
    expect(faults(general('admin_only_routes: [/metrics]', ''))).toEqual([
      `config.yaml:6: general_settings.admin_only_routes: ${sentence}`,
    ]);
    expect(faults(oneModel([], 'litellm_settings: {require_auth_for_metrics_endpoint: true}\n'))).toEqual([
      `config.yaml:6: litellm_settings.require_auth_for_metrics_endpoint: ${sentence}`,
    ]);
  });
});
