import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { renderConfigurationPage } from '../../src/config/documentation.js';
import { renderProvidersPage } from '../../src/config/providers-page.js';
import { renderEffectiveConfig } from '../../src/config/effective.js';
import { loadConfig } from '../../src/config/load.js';
import {
  paramsNames,
  settingsNames,
  generalNames,
  routerNames,
  entryNames,
} from '../../src/config/names/unknown-keys.js';
import { groupOf } from '../../src/config/names/unimplemented.js';
import { openaiParameters } from '../../src/providers/parameters.js';

const source = import.meta.dirname;
const read = (...parts: string[]) => readFileSync(path.join(source, ...parts), 'utf8');

let folder: string;

/** Returns warnings and settings of a file, without parts that differ between hosts. */
function effective(name: string): string {
  const file = path.join(folder, `${name}.yaml`);
  const environment = { MODELS_KEY: 'sk-models', PROXY_KEY: 'sk-proxy' };
  const config = loadConfig({ file, environment });
  const warnings = config.warnings.map((warning) => `# ${warning}\n`).join('');
  return (warnings + renderEffectiveConfig(config)).replaceAll(folder, '/etc/model-proxy');
}

describe('rendered settings and pages', () => {
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'rackless-golden-'));
    for (const file of readdirSync(source).filter((name) => name.endsWith('.yaml')))
      copyFileSync(path.join(source, file), path.join(folder, file));
    const files = ['-subj', '/CN=ca', '-keyout', path.join(folder, 'ca.key'), '-out', path.join(folder, 'ca.pem')];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', '-x509', ...kind, ...files], { stdio: 'pipe' });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(['spec-sample', 'everything'])('are equal to the golden file of %s.yaml', (name) => {
    expect(effective(name)).toBe(read(`${name}.effective`));
  });

  it('contain no secret of everything.yaml', () => {
    expect(effective('everything')).not.toMatch(/sk-|secret/);
  });

  it('are equal to docs/reference/model-proxy-configuration.md, which npm run generate updates', () => {
    expect(read('../../../../docs/reference/model-proxy-configuration.md')).toBe(renderConfigurationPage());
  });

  it('are equal to docs/reference/providers.md, which npm run generate updates', () => {
    expect(read('../../../../docs/reference/providers.md')).toBe(renderProvidersPage());
  });
});

describe('known names', () => {
  it.each([entryNames, paramsNames, settingsNames, generalNames, routerNames])(
    'for $canonical are each in only one group: settings, rejected, ignored or already fulfilled',
    ({ settings, groups }) => {
      const all = [...settings, ...groups.flatMap(({ names }) => [...names])];
      expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
    },
  );

  it('for litellm_params include no OpenAI parameters except extra_headers and max_retries', () => {
    const { settings, groups } = paramsNames;
    expect([...openaiParameters].filter((name) => settings.includes(name))).toEqual(['extra_headers']);
    expect([...openaiParameters].filter((name) => groupOf(groups, name) !== undefined)).toEqual(['max_retries']);
  });
});
