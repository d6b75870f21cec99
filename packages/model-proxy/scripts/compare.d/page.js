/** Renders docs/reference/litellm-differences.md. */
import { cases } from './cases.js';
import { known } from './known.js';
import { wrap } from '../wrap.js';

/** The version of LiteLLM in the last comparison. */
const VERSION = '1.108.7';

export const renderDifferences = () =>
  `<!-- Made by \`npm run generate\` from packages/model-proxy/scripts/compare.d: change that, not this. -->

# Measured differences from LiteLLM

${wrap(`\`packages/model-proxy/scripts/compare-with-litellm.js\` sends ${cases.length} requests to the real LiteLLM and to model-proxy. Both have the same configuration and the same upstream. The script compares status, headers and body of each answer, and the requests at the upstream. It fails if it finds a difference that this page does not explain. The last comparison was with LiteLLM ${VERSION}, without a database.`).replaceAll('\n  ', '\n')}

[Differences between model-proxy and LiteLLM](deviations.md) also lists the differences that the script does not
measure, such as those of the configuration.

## Differences that we keep

${known.map(({ topic, reason }) => wrap(`- **${topic}**: ${reason}`)).join('\n')}

## Not compared

- Virtual keys and budgets. LiteLLM stores them in PostgreSQL with Prisma, whose engine is in no package registry.
- [Providers](providers.md) with other APIs than OpenAI's. \`packages/model-proxy/test/providers\` tests them with
  the shapes that the vendors document.

## Compared requests

${wrap(`${cases.map(([name]) => name).join(', ')}.`).replaceAll('\n  ', '\n')}
`;
