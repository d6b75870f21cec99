/**
 * Runs the real Bifrost (https://github.com/maximhq/bifrost) without a database, so without keys of clients,
 * limits and a log of requests.
 */
import { closeSync, openSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts, listening, pidOf, startPinned, stop, TARGET_CORE } from '../processes.js';
import type { Target } from '../targets.js';

/**
 * Starts Bifrost in front of an upstream with OpenAI's API. Bifrost's name of a model is `openai/{model}`.
 * @throws as {@link listening}.
 */
export async function startBifrost(executable: string, folder: string, upstream: string): Promise<Target> {
  const [port = 0] = await freePorts(1);
  const own = join(folder, 'bifrost');
  await mkdir(own);
  await writeFile(join(own, 'config.json'), JSON.stringify(configuration(upstream)));
  const log = openSync(join(own, 'bifrost.log'), 'a');
  const flags = ['-app-dir', own, '-host', '127.0.0.1', '-port', String(port), '-log-level', 'error'];
  const child = startPinned(TARGET_CORE, ['env', 'GOMAXPROCS=1', executable, ...flags], ['ignore', log, log]);
  closeSync(log);
  await listening(port);
  return { name: 'Bifrost', url: `http://127.0.0.1:${port}`, pid: pidOf(child), stop: () => stop(child) };
}

/** Returns the configuration of Bifrost, with the pool sizes of Bifrost's own benchmarks. */
function configuration(upstream: string) {
  return {
    client: { drop_excess_requests: false, initial_pool_size: 1000, enable_logging: false },
    config_store: { enabled: false },
    logs_store: { enabled: false },
    providers: {
      openai: {
        keys: [{ name: 'bench', value: 'sk-bench-upstream', models: [], weight: 1 }],
        network_config: { base_url: upstream },
        concurrency_and_buffer_size: { concurrency: 1000, buffer_size: 5000 },
      },
    },
  };
}
