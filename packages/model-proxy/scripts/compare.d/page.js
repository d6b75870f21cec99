/** Renders docs/reference/litellm-differences.md. */
import { cases } from './cases.js';
import { known } from './known.js';

/** The version of LiteLLM in the last comparison. */
const VERSION = '1.106.2';

/** Wraps a text at 100 columns. */
function wrap(text) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== '' && line.length + word.length >= 100) lines.push(`  ${word}`);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
}

export const renderDifferences = () =>
  `<!-- Made by \`npm run generate\` from packages/model-proxy/scripts/compare.d: change that, not this. -->

# Measured differences from LiteLLM

${wrap(`\`packages/model-proxy/scripts/compare-with-litellm.js\` sends ${cases.length} requests to the real LiteLLM and to model-proxy. Both have the same configuration and the same upstream. The script compares status, headers and body of each answer, and the requests at the upstream. It fails if it finds a difference that this page does not explain. The last comparison was with LiteLLM ${VERSION}, without a database.`).replaceAll('\n  ', '\n')}

[Differences between model-proxy and LiteLLM](deviations.md) lists the differences in all other areas,
such as the configuration.

## Differences that we keep

${known.map(({ topic, reason }) => wrap(`- **${topic}**: ${reason}`)).join('\n')}

## Not compared

- Virtual keys and budgets. LiteLLM stores them in PostgreSQL with Prisma, whose engine is a download
  from outside of the package registries.
- Providers with other APIs than OpenAI's. [Recorded shapes of the vendors](providers.md) test them.

## Compared requests

${wrap(`${cases.map(([name]) => name).join(', ')}.`).replaceAll('\n  ', '\n')}
`;
