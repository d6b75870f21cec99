/** Starts LiteLLM and model-proxy with the same configuration. */
import { spawn } from 'node:child_process';
import { openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const START_MS = 120_000;

/** Returns the configuration as JSON, which is also YAML. */
export function configuration(models, upstreamPort) {
  return JSON.stringify(
    {
      model_list: models.map(([name, model, params = {}]) => ({
        model_name: name,
        litellm_params: { model, api_base: `http://127.0.0.1:${upstreamPort}/v1`, api_key: 'sk-upstream', ...params },
      })),
      router_settings: { num_retries: 0, disable_cooldowns: true },
      // LiteLLM uploads files only with this setting. The proxy ignores it.
      files_settings: [
        { custom_llm_provider: 'openai', api_base: `http://127.0.0.1:${upstreamPort}/v1`, api_key: 'sk-upstream' },
      ],
      litellm_settings: { fallbacks: [{ 'with-fallback': ['chat'] }] },
      general_settings: { master_key: 'sk-master' },
    },
    undefined,
    2,
  );
}

async function freePort() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function started(child, url, log) {
  const end = Date.now() + START_MS;
  while (Date.now() < end) {
    if (child.exitCode !== null) throw new Error(`the gateway ended at its start, see ${log}`);
    try {
      const answer = await fetch(`${url}/health/liveliness`);
      if (answer.ok) return;
    } catch {
      // The gateway does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`the gateway does not answer after ${START_MS / 1000} s, see ${log}`);
}

async function start(name, folder, command, environment) {
  const port = await freePort();
  const log = path.join(folder, `${name}.log`);
  const file = openSync(log, 'w');
  const [program, ...args] = [...command, '--host', '127.0.0.1', '--port', String(port)];
  const child = spawn(program, args, { env: { ...process.env, ...environment }, stdio: ['ignore', file, file] });
  const url = `http://127.0.0.1:${port}`;
  await started(child, url, log);
  return {
    name,
    url,
    stop: async () => {
      if (child.exitCode !== null) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await once(child, 'exit');
      clearTimeout(timer);
    },
  };
}

/** Starts LiteLLM and model-proxy, and returns them in this order. @param litellm the executable of LiteLLM. */
export async function startGateways(litellm, folder, models, upstreamPort) {
  const file = path.join(folder, 'config.yaml');
  writeFileSync(file, configuration(models, upstreamPort));
  const own = fileURLToPath(new URL('../../bin/model-proxy.js', import.meta.url));
  const theirs = start('LiteLLM', folder, [litellm, '--config', file], {
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    LITELLM_TELEMETRY: 'False',
    // LiteLLM uses OpenAI's account in the environment for files and batches.
    OPENAI_API_KEY: 'sk-upstream',
    OPENAI_API_BASE: `http://127.0.0.1:${upstreamPort}/v1`,
  });
  const ours = start('model-proxy', folder, [process.execPath, own, '--config', file], {});
  const results = await Promise.allSettled([theirs, ours]);
  const failure = results.find(({ status }) => status === 'rejected');
  if (failure === undefined) return results.map(({ value }) => value);
  for (const { value } of results) await value?.stop();
  throw failure.reason;
}
