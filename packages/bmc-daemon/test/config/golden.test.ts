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
 * Replaces the folder of the checkout, which differs between hosts, by a fixed one. Shortens the
 * padding of comments, which depends on the length of that folder.
 */
const portable = (text: string) => text.replaceAll(folder, '/etc/emulator').replace(/ +# /g, '  # ');

/** Removes the settings that have their defaults, so that a new setting changes no golden file. */
const withoutDefaults = (text: string) => text.replaceAll(/^.* {2}# default\n/gm, '');

describe('the configuration', () => {
  it.each(['spec-sample', 'sushy-emulator'])('from %s.conf has the contents of its golden file', (name) => {
    const loaded = loadSettings({ file: path.join(folder, `${name}.conf`) });
    expect(loaded.faults).toEqual([]);
    const warnings = loaded.warnings.map((warning) => `# ${warning}\n`).join('');
    expect(withoutDefaults(portable(warnings + renderEffectiveSettings(loaded)))).toBe(read(`${name}.effective`));
  });

  it('matches docs/reference/bmc-daemon-configuration.md; npm run generate updates this page', () => {
    expect(read('../../../../docs/reference/bmc-daemon-configuration.md')).toBe(renderConfigurationPage());
  });

  it('has no name that is both a setting and a recognized name without effect', () => {
    const stems = new Set(settingKeys.map((key) => settingsTable[key].name.slice('EMULATOR_'.length)));
    expect(Object.keys(recognizedNames).filter((stem) => stems.has(stem))).toEqual([]);
    expect(stems.size).toBe(settingKeys.length);
  });
});
