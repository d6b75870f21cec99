import { expect, it } from '@jest/globals';
import { renderConfigurationPage } from './documentation.js';
import { settingKeys, settingsTable } from './settings.js';

it('renders a row for each setting in the page of the configuration', () => {
  const page = renderConfigurationPage();
  const names = settingKeys.map((key) => settingsTable[key].name);
  expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
});
