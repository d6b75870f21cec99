import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { renderConfigurationPage } from '../../src/config/documentation.js';
import { renderEffectiveSettings } from '../../src/config/effective.js';
import { loadSettings } from '../../src/config/load.js';
import { recognizedNames } from '../../src/config/setting-names.js';
import { settingKeys, settingsTable } from '../../src/config/settings.js';

const folder = import.meta.dirname;
const read = (...parts: string[]) => readFileSync(path.join(folder, ...parts), 'utf8');

/**
 * Removes the folder of the checkout, which differs between hosts, and the padding that depends on
 * its length.
 */
const portable = (text: string) => text.replaceAll(folder, '/etc/emulator').replace(/ +# /g, '  # ');

/** Removes the settings that have their defaults, so that a new setting changes no golden file. */
const withoutDefaults = (text: string) => text.replaceAll(/^.* {2}# default\n/gm, '');

describe('whole configuration files', () => {
  it.each(['spec-sample', 'sushy-emulator'])('%s.conf gives the settings of its golden file', (name) => {
    const loaded = loadSettings({ file: path.join(folder, `${name}.conf`) });
    expect(loaded.faults).toEqual([]);
    const warnings = loaded.warnings.map((warning) => `# ${warning}\n`).join('');
    expect(withoutDefaults(portable(warnings + renderEffectiveSettings(loaded)))).toBe(read(`${name}.effective`));
  });

  it('docs/reference/bmc-daemon-configuration.md matches the table of settings; npm run generate updates it', () => {
    expect(read('../../../../docs/reference/bmc-daemon-configuration.md')).toBe(renderConfigurationPage());
  });

  it('no name is both a setting and a recognized name without effect', () => {
    const stems = new Set(settingKeys.map((key) => settingsTable[key].name.slice('EMULATOR_'.length)));
    expect(Object.keys(recognizedNames).filter((stem) => stems.has(stem))).toEqual([]);
    expect(stems.size).toBe(settingKeys.length);
  });
});
