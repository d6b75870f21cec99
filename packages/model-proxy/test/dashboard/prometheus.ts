/** Runs Prometheus, which scrapes a proxy each second. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../daemon/test/support/free-port.js';
import { waitFor } from '../harness/wait.js';

/** A running Prometheus. */
export interface Prometheus {
  /**
   * Evaluates an expression.
   * @returns the value of each series.
   * @throws {Error} if Prometheus reports an error.
   */
  evaluate(expression: string): Promise<readonly number[]>;
  close(): Promise<void>;
}

/**
 * Starts Prometheus, and waits until it is ready.
 * @param program path of Prometheus.
 * @param port port of the proxy.
 */
export async function startPrometheus(program: string, port: number): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'rackless-prometheus-'));
  const file = join(folder, 'prometheus.yml');
  const job = { job_name: 'model-proxy', static_configs: [{ targets: [`127.0.0.1:${port}`] }] };
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify({ global: { scrape_interval: '1s' }, scrape_configs: [job] }));
  const address = `127.0.0.1:${await freePort()}`;
  const flags = [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}`];
  const child = spawn(program, flags, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  await waitFor(
    async () => {
      const ready = await fetch(`http://${address}/-/ready`).catch(() => undefined);
      return ready?.ok === true ? true : undefined;
    },
    () => `${program} does not answer at ${address}`,
  );
  return {
    evaluate: async (expression) => {
      const answer = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(expression)}`);
      const reply = (await answer.json()) as Reply; // see https://prometheus.io/docs/prometheus/latest/querying/api/
      if (reply.status !== 'success') throw new Error(`${expression}: ${reply.error}`);
      return reply.data.result.map(({ value: [, value] }) => Number(value));
    },
    close: async () => {
      child.kill();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

type Reply =
  | { readonly status: 'error'; readonly error: string }
  | { readonly status: 'success'; readonly data: { readonly result: readonly { readonly value: [number, string] }[] } };
