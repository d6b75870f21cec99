import { expect, it } from '@jest/globals';
import { renderConfigurationPage } from './documentation.js';
import { settingKeys, settingsTable } from './settings.js';

it('the page of the configuration has a row for each setting', () => {
  const page = renderConfigurationPage();
  const names = settingKeys.map((key) => settingsTable[key].name);
  expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
});
