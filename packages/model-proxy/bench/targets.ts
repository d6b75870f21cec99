/**
 * Starts the targets: four proxies in front of the same upstream, each as a process on the same
 * core.
 */
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PUBLIC_MODEL } from './bodies.js';
import { startNginx } from './peers/nginx.js';
import { freePorts, listening, pidOf, startPinned, stop, TARGET_CORE } from './processes.js';

/** The key of clients, which model-proxy checks. */
export const CLIENT_KEY = 'sk-bench-client-0123456789';

/** The key of the administrator of a proxy with a store. */
export const MASTER_KEY = 'sk-bench-master';

export interface Target {
  readonly name: string;
  /** `http://127.0.0.1:4000` */
  readonly url: string;
  /** Process id of the process that serves requests (nginx: the worker). */
  readonly pid: number;
  stop(): Promise<void>;
}

export const targetNames = ['nginx', 'naive', 'http-pipe', 'model-proxy'] as const;
export type TargetName = (typeof targetNames)[number];

/**
 * Starts a target in front of a plain upstream.
 * @param folder the folder for its files.
 * @throws as {@link listening}.
 */
export function startTarget(name: TargetName, folder: string, upstreamPort: number): Promise<Target> {
  switch (name) {
    case 'nginx':
      return startNginxProxy(folder, upstreamPort);
    case 'naive':
      return startScript(name, 'peers/naive-proxy.js', upstreamPort);
    case 'http-pipe':
      return startScript(name, 'peers/http-pipe.js', upstreamPort);
    case 'model-proxy':
      return startModelProxy(folder, { [PUBLIC_MODEL]: { apiBase: `http://127.0.0.1:${upstreamPort}/v1` } });
  }
}

async function startNginxProxy(folder: string, upstreamPort: number): Promise<Target> {
  const nginx = await startNginx(TARGET_CORE, join(folder, 'nginx'), 1, ([port]) => {
    return `
      upstream models { server 127.0.0.1:${upstreamPort}; keepalive 1024; keepalive_requests 1000000000; }
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass http://models; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }
      }`;
  });
  return { name: 'nginx', url: `http://127.0.0.1:${nginx.ports[0]}`, pid: nginx.workerPid, stop: () => nginx.stop() };
}

async function startScript(name: string, script: string, upstreamPort: number): Promise<Target> {
  const [port = 0] = await freePorts(1);
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = startPinned(
    TARGET_CORE,
    [process.execPath, path, String(port), String(upstreamPort)],
    ['ignore', 'ignore', 'inherit'],
  );
  await listening(port);
  return asTarget(name, port, child);
}

/** A model of a configuration. */
export interface Model {
  readonly apiBase: string;
  /** Path of the CA file of the upstream; absent: plain HTTP. */
  readonly caFile?: string;
}

export interface ModelProxyOptions {
  /** Options of Node, before the command. */
  readonly nodeFlags?: readonly string[];
  /** File for the log. Default: a file in the folder. */
  readonly log?: string;
  /** The store of virtual keys. {@link CLIENT_KEY} is then a virtual key that must be created. Default: none. */
  readonly store?: string;
  /** Path of the command. Default: this build. */
  readonly command?: string;
  /** Standard error, which {@link ModelProxyOptions.nodeFlags} may use. Default: the terminal. */
  readonly stderr?: 'pipe' | 'inherit';
}

/**
 * A running model-proxy (the built command), which checks keys, counts and logs requests, and
 * renames models.
 */
export interface ModelProxy extends Target {
  readonly process: ChildProcess;
}

/** Starts model-proxy. The keys of `models` are their public names. @throws as {@link listening}. */
export async function startModelProxy(
  folder: string,
  models: Readonly<Record<string, Model>>,
  options: ModelProxyOptions = {},
): Promise<ModelProxy> {
  return startModelProxyWith(await writeConfiguration(folder, models, options.store), folder, options);
}

/** Starts model-proxy with a configuration file. @throws as {@link listening}. */
export async function startModelProxyWith(
  configuration: string,
  folder: string,
  {
    nodeFlags = [],
    log = join(folder, 'model-proxy.log'),
    stderr = 'inherit',
    command: path = bin,
  }: ModelProxyOptions = {},
): Promise<ModelProxy> {
  const [port = 0] = await freePorts(1);
  const output = openSync(log, 'a');
  const command = [process.execPath, ...nodeFlags, path, ...flagsOf(configuration, port)];
  const child = startPinned(TARGET_CORE, command, ['ignore', output, stderr]);
  closeSync(output);
  await listening(port);
  return { ...asTarget('model-proxy', port, child), process: child };
}

/** Path of the built command. */
export const bin = fileURLToPath(new URL('../../../bin/model-proxy.js', import.meta.url));

/** Returns the flags for a port of this host. */
export const flagsOf = (configuration: string, port: number): readonly string[] => [
  ...['--config', configuration],
  ...['--host', '127.0.0.1'],
  ...['--port', String(port)],
];

/**
 * Writes a configuration.
 * @returns the path of the file.
 */
export async function writeConfiguration(
  folder: string,
  models: Readonly<Record<string, Model>>,
  store?: string,
): Promise<string> {
  const path = join(folder, 'config.yaml');
  const entries = Object.entries(models).map(([name, { apiBase, caFile }]) => ({
    model_name: name,
    litellm_params: {
      model: 'hosted_vllm/bench-model',
      api_base: apiBase,
      api_key: 'sk-bench-upstream',
      ...(caFile === undefined ? {} : { ssl_verify: caFile }),
    },
  }));
  // JSON is valid YAML.
  const settings = store === undefined ? { master_key: CLIENT_KEY } : { master_key: MASTER_KEY, store };
  await writeFile(path, JSON.stringify({ model_list: entries, general_settings: settings }));
  return path;
}

function asTarget(name: string, port: number, child: ChildProcess): Target {
  return { name, url: `http://127.0.0.1:${port}`, pid: pidOf(child), stop: () => stop(child) };
}
