/**
 * Writes the generated pages of docs/reference, the API page of packages/libvirt, and the man pages
 * of racklessctl. The page of LiteLLM's samples needs RACKLESS_LITELLM_SAMPLES. `npm run generate`
 * builds first. Tests fail if a page differs from its generated text.
 */
import { writeFileSync } from 'node:fs';
import { renderApiPage } from '../packages/libvirt/scripts/api-page.js';
import { renderConfigurationPage as renderBmcConfiguration } from '../packages/bmc-daemon/dist/config/documentation.js';
import { resources, streams } from '../packages/bmc-daemon/dist/features.js';
import { renderResourcesPage } from '../packages/bmc-daemon/dist/resources/documentation.js';
import { renderConfigurationPage as renderProxyConfiguration } from '../packages/model-proxy/dist/config/documentation.js';
import { renderProvidersPage } from '../packages/model-proxy/dist/config/providers-page.js';
import { loadConfig } from '../packages/model-proxy/dist/config/load.js';
import { measure, readSamples, renderPage as renderSamples } from '../packages/model-proxy/scripts/litellm-samples.js';
import { renderDifferences } from '../packages/model-proxy/scripts/compare.d/page.js';
import { manualPages } from '../packages/racklessctl/dist/cli/manual.js';
import { renderReference } from '../packages/racklessctl/dist/cli/reference.js';
import { commands } from '../packages/racklessctl/dist/commands/index.js';

/** The man pages of racklessctl. */
const manuals = Object.entries(manualPages(commands)).map(([name, text]) => [`packages/racklessctl/man/${name}`, text]);

/** The samples of LiteLLM's documentation are not part of the repository. */
const samples = process.env['RACKLESS_LITELLM_SAMPLES'];
const samplesPage =
  samples === undefined
    ? {}
    : { 'docs/reference/litellm-samples.md': renderSamples(measure(loadConfig, readSamples(samples))) };

const pages = {
  'docs/reference/bmc-daemon-configuration.md': renderBmcConfiguration(),
  'docs/reference/model-proxy-configuration.md': renderProxyConfiguration(),
  'docs/reference/providers.md': renderProvidersPage(),
  'docs/reference/litellm-differences.md': renderDifferences(),
  'docs/reference/resources.md': renderResourcesPage(resources, streams),
  'docs/reference/racklessctl.md': renderReference(commands),
  'packages/libvirt/API.md': renderApiPage(),
  ...Object.fromEntries(manuals),
  ...samplesPage,
};

for (const [page, text] of Object.entries(pages)) writeFileSync(new URL(`../${page}`, import.meta.url), text);
