/** Measures how long requests wait while the proxy reloads a file with many models, against a file with one model. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { median, short, table, type Figure } from '../report.js';
import type { Bench } from '../rounds.js';
import { startModelProxyWith } from '../targets.js';

const MODELS = 10_000;

const nameOf = (revision: number) => `revision-${revision}`;

/** Returns a configuration with a name that only this revision has. */
function configuration(models: number, revision: number): string {
  const entry = (name: string) =>
    `  - model_name: ${name}\n    litellm_params:\n      model: hosted_vllm/m\n      api_base: http://127.0.0.1:9/v1\n`;
  const others = Array.from({ length: models - 1 }, (_, index) => entry(`m${index}`));
  return `model_list:\n${entry(nameOf(revision))}${others.join('')}`;
}

async function ask(url: string, agent: Agent): Promise<number> {
  // Node documents this argument of the event.
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage];
  await once(response.resume(), 'end');
  return response.statusCode ?? 0;
}

interface Reload {
  readonly longestMs: number;
  readonly totalMs: number;
}

/**
 * One client sends all its requests on one connection, so its longest request shows how long the event loop was
 * busy.
 */
export async function benchReload({ folder, rounds, print }: Bench): Promise<readonly Figure[]> {
  const file = join(folder, 'config.yaml');
  await writeFile(file, configuration(1, 0));
  const proxy = await startModelProxyWith(file, folder);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let revision = 0;
  const reload = async (models: number): Promise<Reload> => {
    revision += 1;
    await writeFile(file, configuration(models, revision));
    // The first answer also shows that the proxy handles signals.
    await ask(`${proxy.url}/health/liveliness`, agent);
    proxy.process.kill('SIGHUP');
    const start = performance.now();
    let longestMs = 0;
    for (let status = 404, before = start; status !== 200;) {
      status = await ask(`${proxy.url}/v1/models/${nameOf(revision)}`, agent);
      const now = performance.now();
      longestMs = Math.max(longestMs, now - before);
      before = now;
    }
    return { longestMs, totalMs: performance.now() - start };
  };
  const few: Reload[] = [];
  const many: Reload[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      few.push(await reload(1));
      many.push(await reload(MODELS));
    }
  } finally {
    agent.destroy();
    await proxy.stop();
  }
  const row = (name: string, reloads: readonly Reload[]) => [
    name,
    short(median(reloads.map(({ longestMs }) => longestMs))),
    short(Math.max(...reloads.map(({ longestMs }) => longestMs))),
    short(median(reloads.map(({ totalMs }) => totalMs))),
  ];
  const head = ['models', 'longest request, median ms', 'maximum', 'reload, median ms'];
  print(`Requests during ${rounds} reloads\n\n${table(head, [row('1', few), row(String(MODELS), many)])}`);
  const value = median(many.map(({ longestMs }) => longestMs));
  return [
    { what: `reload of ${MODELS} models: longest request`, value, unit: 'ms', must: 300, aim: 100, better: 'lower' },
  ];
}
