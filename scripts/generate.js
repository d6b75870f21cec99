/**
 * Writes the generated pages of docs/. `npm run generate` builds first; tests compare the pages.
 */
import { writeFileSync } from 'node:fs';
import { renderApiPage } from '../packages/libvirt/scripts/api-page.js';
import { renderConfigurationPage as renderBmcConfiguration } from '../packages/bmc-daemon/dist/config/documentation.js';
import { resources, streams } from '../packages/bmc-daemon/dist/features.js';
import { renderResourcesPage } from '../packages/bmc-daemon/dist/resources/documentation.js';
import { renderConfigurationPage as renderProxyConfiguration } from '../packages/model-proxy/dist/config/documentation.js';

const pages = {
  'docs/reference/bmc-daemon-configuration.md': renderBmcConfiguration(),
  'docs/reference/model-proxy-configuration.md': renderProxyConfiguration(),
  'docs/reference/resources.md': renderResourcesPage(resources, streams),
  'packages/libvirt/API.md': renderApiPage(),
};

for (const [page, text] of Object.entries(pages)) writeFileSync(new URL(`../${page}`, import.meta.url), text);
