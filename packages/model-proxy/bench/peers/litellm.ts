/** Runs the real LiteLLM with one worker. */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts, pidOf, startPinned, stop, TARGET_CORE } from '../processes.js';
import type { Target } from '../targets.js';

/** Maximum time of a start in milliseconds. LiteLLM loads its modules for half a minute on a slow host. */
const START_MS = 180_000;

/**
 * Starts LiteLLM.
 * @param configuration path of the file.
 * @throws {Error} if it ends, or does not answer in three minutes.
 */
export async function startLitellm(executable: string, folder: string, configuration: string): Promise<Target> {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const log = openSync(join(folder, 'litellm.log'), 'a');
  const flags = ['--config', configuration, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'];
  // Without these variables, LiteLLM asks services on the internet. ERROR disables its log of requests.
  const environment = ['LITELLM_LOCAL_MODEL_COST_MAP=True', 'LITELLM_TELEMETRY=False', 'LITELLM_LOG=ERROR'];
  const child = startPinned(TARGET_CORE, ['env', ...environment, executable, ...flags], ['ignore', log, log]);
  closeSync(log);
  const end = performance.now() + START_MS;
  while (!(await isAlive(url))) {
    if (child.exitCode !== null || performance.now() > end) {
      await stop(child);
      throw new Error(`starting LiteLLM: it does not answer, see ${folder}/litellm.log`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return { name: 'LiteLLM', url, pid: pidOf(child), stop: () => stop(child) };
}

async function isAlive(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health/liveliness`)).ok;
  } catch {
    return false;
  }
}
