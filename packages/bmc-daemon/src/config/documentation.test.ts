import { expect, it } from '@jest/globals';
import { renderConfigurationPage } from './documentation.js';
import { settingKeys, settingsTable } from './settings.js';

it('renderConfigurationPage renders a row for each setting', () => {
  const page = renderConfigurationPage();
  const names = settingKeys.map((key) => settingsTable[key].name);
  expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
});
