import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renderEffectiveConfig } from './effective.js';
import { loadConfig } from './load.js';
import { healthRows } from './health-rows.js';
import { generalTable } from './settings.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-effective-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns the rendered text of a configuration. */
function render(config: object): string {
  const file = join(folder, 'config.yaml');
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return renderEffectiveConfig(loadConfig({ file, environment: {} }));
}

/** Values that are not the defaults. */
const general: Readonly<Record<string, unknown>> = {
  master_key: 'sk-master-0123456789',
  always_include_stream_usage: true,
  forward_client_headers_to_llm_api: true,
  allowed_ips: ['10.0.0.1'],
  use_x_forwarded_for: true,
  allowed_routes: ['/v1/models'],
  store: 'rediss://user:secret-0123@redis.test:6379/0',
  alerting: ['webhook'],
  reject_clientside_metadata_tags: true,
  maximum_spend_logs_retention_period: '30d',
  admin_only_routes: ['/health'],
  enforce_user_param: true,
  forwarded_paths: ['fim/completions'],
  global_max_parallel_requests: 6,
  max_in_flight_requests_per_worker: 7,
  max_queued_requests_per_worker: 8,
  admission_queue_timeout_seconds: 9,
  max_request_size_mb: 3,
  max_response_size_mb: 4,
};
/** Settings that the rendered text shows in another setting, or not at all. */
const notShownByName: ReadonlySet<string> = new Set([
  'alert_types', // shown in `alerting`
  ...Object.values(healthRows).map(({ name }) => name),
  'max_parallel_requests', // shown with each deployment
  'require_auth_for_metrics_endpoint', // shown in admin_only_routes
  'start_without', // not shown: it only permits settings that are not implemented
]);

describe('the effective configuration', () => {
  it('has each general setting that is not in `notShownByName`, without secrets', () => {
    const names = Object.values(generalTable).map(({ name }) => name);
    expect(names.filter((name) => !notShownByName.has(name)).toSorted()).toEqual(Object.keys(general).toSorted());
    const text = render({
      model_list: [{ model_name: 'chat', litellm_params: { model: 'openai/m', api_key: 'sk-1' } }],
      general_settings: general,
      environment_variables: { WEBHOOK_URL: 'https://hooks.test/x?key=secret-0123' },
    });
    for (const name of Object.keys(general)) expect(text).toContain(`\n  ${name}: `);
    expect(text).not.toMatch(/secret-0123|sk-master/);
  });

  it('has no secret of a deployment, also in nested values, and only the host of a receiver', () => {
    const secret = 'hidden-0123456789';
    const url = `https://user:${secret}@tools.test/mcp?token=${secret}`;
    const params = {
      model: 'openai/m',
      api_base: `https://user.test/v1?key=${secret}`,
      api_key: secret,
      extra_headers: { 'X-Api-Key': secret },
      extra_body: {
        tools: [{ type: 'mcp', server_url: url, authorization: secret, headers: { 'X-Key': secret } }],
        credentials: { user: secret },
      },
      max_tokens: 5,
      web_search_options: { search_url: url, keys: [secret] },
    };
    const text = render({
      model_list: [{ model_name: 'chat', litellm_params: params, model_info: { docs: url, api_key: secret } }],
      litellm_settings: { callbacks: ['reports'] },
      callback_settings: {
        reports: { callback_type: 'generic_api', endpoint: `https://hooks.test:8443/services/T0/${secret}` },
      },
      general_settings: { alerting: ['webhook'] },
      environment_variables: { WEBHOOK_URL: `https://alerts.test/${secret}` },
    });
    expect(text).not.toContain(secret);
    expect(text).toContain('"server_url":"https://tools.test/mcp?******"');
    expect(text).toContain('"credentials":"******"');
    expect(text).toContain('max_tokens: 5\n');
    expect(text).toContain('"endpoint":"https://hooks.test:8443/******"');
    expect(text).toContain('alerting: ["webhook"] # to https://alerts.test/******');
  });

  it('has the query and the token source of a deployment, without secrets', () => {
    const application = { tenant_id: 'tenant-1', client_id: 'client-1', client_secret: 'hidden-0123456789' };
    const azure = { model: 'azure/gpt-4o', api_base: 'https://res.test', api_version: '2024-10-21', ...application };
    const vertex = {
      model: 'vertex_ai/gemini-2.0-flash',
      vertex_project: 'p',
      vertex_credentials: '/etc/account.json',
    };
    const aws = { aws_region_name: 'eu-west-1', aws_access_key_id: 'hidden-1', aws_secret_access_key: 'hidden-2' };
    const bedrock = { model: 'bedrock/anthropic.claude-3-haiku-20240307-v1:0', ...aws };
    const text = render({
      model_list: [azure, vertex, bedrock].map((params) => ({ model_name: 'chat', litellm_params: params })),
    });
    expect(text).toMatch(/api_base: "https:\/\/res\.test[^"?]*"\n *api_version: "2024-10-21"\n/);
    expect(text).toMatch(/# access tokens of Microsoft Entra ID: POST https:.*tenant-1.*"client_id":"client-1"/);
    expect(text).not.toContain('hidden');
    expect(text).toMatch(/aws_region_name: "eu-west-1"\n *aws_access_key_id: "\*{6}"\n/);
    expect(text).toContain('vertex_credentials: "/etc/account.json"');
  });
});
