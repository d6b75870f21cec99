/** Writes and loads configurations of tests. */
import { afterAll, beforeAll } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigError, loadConfig, type Flags, type LoadedConfig } from '../../src/config/load.js';
import type { Environment } from '../../src/settings.js';
import type { Deployment } from '../../src/providers/deployment.js';

/** Flags and environment of a test. */
export interface Given {
  readonly flags?: Flags;
  readonly environment?: Environment;
}

/** Functions for the configurations of a suite. */
export interface ConfigurationFixture {
  /** Returns a path in the suite's folder. */
  readonly at: (name: string) => string;
  /** Writes a file in the folder. */
  readonly write: (name: string, text: string) => void;
  /** Makes a self-signed certificate: `<name>.pem` and `<name>.key`. */
  readonly makeCertificate: (name: string) => void;
  /**
   * Loads a text as config.yaml. Sets the host to 127.0.0.1 unless the flags have one, to avoid a warning.
   * @throws {ConfigError}
   */
  readonly load: (text: string, given?: Given) => LoadedConfig;
  /** Returns the first deployment of a configuration. @throws {Error} if there is none. @throws {ConfigError} */
  readonly deployment: (text: string, given?: Given) => Deployment;
  /** Returns the faults of a configuration without the folder's path; empty: valid. */
  readonly faults: (text: string, given?: Given) => readonly string[];
  readonly warnings: (text: string, given?: Given) => readonly string[];
}

/** Makes the fixture. Call this in a `describe` or at the top of a suite. */
export function configurationFixture(): ConfigurationFixture {
  let folder = '';
  const at = (name: string) => path.join(folder, name);
  const short = (lines: readonly string[]) => lines.map((line) => line.replaceAll(`${folder}/`, ''));
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'rackless-config-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const load = (text: string, { flags = {}, environment = {} }: Given = {}) => {
    writeFileSync(at('config.yaml'), text);
    return loadConfig({
      file: 'config.yaml',
      flags: { host: '127.0.0.1', ...flags },
      environment,
      workingDirectory: folder,
    });
  };
  return {
    at,
    write: (name, text) => writeFileSync(at(name), text),
    makeCertificate(name) {
      const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
      const files = ['-subj', `/CN=${name}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)];
      execFileSync('openssl', ['req', '-x509', ...kind, ...files], { stdio: 'pipe' });
    },
    load,
    deployment(text, given) {
      const [first] = load(text, given).proxy.deployments;
      if (first === undefined) throw new Error('there is no deployment');
      return first;
    },
    faults(text, given) {
      try {
        load(text, given);
        return [];
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        return short(error.faults);
      }
    },
    warnings: (text, given) => short(load(text, given).warnings),
  };
}

/** Returns a configuration with a model, more params and more blocks. */
export function oneModel(params: readonly string[] = [], blocks = ''): string {
  return [
    'model_list:',
    '  - model_name: chat',
    '    litellm_params:',
    '      model: hosted_vllm/oss',
    '      api_base: https://up/v1/',
    ...params.map((line) => `      ${line}`),
    blocks,
  ].join('\n');
}
