/**
 * Renders docs/reference/model-proxy-configuration.md from the tables of settings and flags.
 * `npm run generate` writes the page, and a test compares it.
 */
import { endpoints } from '../endpoints/index.js';
import { groupSections, introduction, signalsSection } from './documentation/texts.js';
import type { Table } from './faults.js';
import { callbackTable } from './callbacks/callback-table.js';
import { flagsTable } from './flags.js';
import { foreignProviders } from './names/known-names.js';
import { unimplemented, type Treatment } from './names/unimplemented.js';
import { routerTable } from './routing/router-table.js';
import { credentialTable, entryTable, generalTable, paramsTable, settingsTable } from './settings.js';

/** Escapes a cell of a Markdown table. */
const cell = (text: string) => text.replaceAll('|', '\\|');

/** Maximum number of words in a cell. A longer text is in a section below the table. */
const MAX_CELL_WORDS = 15;

const isShort = (text: string) => text.split(/\s+/).length <= MAX_CELL_WORDS;
const firstSentence = (text: string) => /^.*?\.(?= )/.exec(text)?.[0] ?? text;

/** Renders a text as its first sentence and a list of the other sentences. */
function sentences(text: string): string {
  const summary = firstSentence(text);
  const others = text
    .slice(summary.length)
    .trim()
    .split(/(?<=\.) (?=[A-Z`])/);
  return [summary, others.map((sentence) => wrap(`- ${sentence}`, '  ')).join('\n')].join('\n\n');
}

/** The texts of a row: its first cells, and the documentation, which is its last cell. */
interface Item {
  readonly cells: readonly string[];
  readonly doc: string;
}

/**
 * Renders a table with a row for each item, and a section for each long text.
 * @param described texts that have a section already.
 */
function withSections(head: readonly string[], items: readonly Item[], described: ReadonlySet<string>): string {
  return [
    [
      `| ${head.join(' | ')} |`,
      `|${' --- |'.repeat(head.length)}`,
      ...items.map(
        ({ cells, doc }) => `| ${[...cells, isShort(doc) ? doc : firstSentence(doc)].map(cell).join(' | ')} |`,
      ),
    ].join('\n'),
    ...items
      .filter(({ doc }) => !isShort(doc) && firstSentence(doc) !== doc && !described.has(doc))
      .flatMap(({ cells: [title], doc }) => [`### ${title ?? ''}`, sentences(doc)]),
  ].join('\n\n');
}

function settings(table: Table, describedIn: Table = {}): string {
  const items = Object.values(table).map(({ name, aliases, expected, default: standard, doc }) => ({
    cells: [[name, ...aliases].map((one) => `\`${one}\``).join(', '), expected, standard],
    doc,
  }));
  const described = new Set(Object.values(describedIn).map(({ doc }) => doc));
  return withSections(['Key', 'Value', 'Default', 'Meaning'], items, described);
}

function flags(): string {
  const items = flagsTable.map(({ flags: names, environment, default: standard, doc }) => ({
    cells: [`\`${names}\``, environment === undefined ? '' : `\`${environment}\``, standard ?? ''],
    doc,
  }));
  return withSections(['Flag', 'Environment', 'Default', 'Meaning'], items, new Set());
}

const blockNames: Readonly<Record<keyof typeof unimplemented, string>> = {
  top: 'top of the file',
  entry: '`model_list[]`',
  params: '`litellm_params`',
  settings: '`litellm_settings`',
  general: '`general_settings`',
  router: '`router_settings`',
  environment: 'environment',
};

/** Wraps a text at 100 columns. Lines after the first begin with the indent. */
function wrap(text: string, indent: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length >= 100) lines.push(`${indent}${word}`);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
}

function settingsThatAre(treatment: Treatment): string {
  return Object.entries(unimplemented)
    .flatMap(([block, groups]) =>
      groups
        .filter((group) => group.treatment === treatment)
        .map(({ what, names }) => {
          const list = [...names].map((name) => `\`${name}\``).join(', ');
          // `block` is a key of this table.
          return wrap(`- ${blockNames[block as keyof typeof unimplemented]} (${what}): ${list}`, '  ');
        }),
    )
    .join('\n');
}

const servedPaths = () => wrap(endpoints.map(({ path }) => `\`/v1/${path}\``).join(', '), '');

/** Renders the whole page, with a newline at the end. */
export function renderConfigurationPage(): string {
  return `${introduction}

## Entries of \`model_list\`

${settings(entryTable)}

## \`litellm_params\` of an entry

${settings(paramsTable)}

### Request parameters

Each other key of the params is a parameter of the request, for example \`temperature: 0.2\`, \`top_k: 20\`
or \`chat_template_kwargs\`. The proxy adds it to requests that do not contain it. A parameter with an
unknown name causes a warning. If the name looks like a misspelled key, the proxy does not send it.

### Providers

\`model\` begins with a provider: \`openai\`, \`hosted_vllm\`, \`azure\`, \`groq\`, …. The proxy knows the addresses
and environment variables of [these providers](providers.md). An unknown provider with an \`api_base\`
causes a warning, and the proxy uses OpenAI's API at that address.

If \`model\` does not begin with a provider, the proxy uses the first rule that applies, as LiteLLM does:

1. \`api_base\` is the address of a known provider: \`https://api.groq.com/openai/v1\` means \`groq\`.
2. The name of the model is known: \`gpt-4o\` means \`openai\`, \`claude-opus-4-1\` means \`anthropic\`,
   \`gemini-2.5-pro\` means \`vertex_ai\`.
3. There is an \`api_base\`: the proxy uses OpenAI's API at that address, with the \`api_key\` of the entry
   and no key of the environment.
4. Otherwise the proxy does not start. The message shows the prefix to write. The proxy never sends a
   key to a provider that it only guesses.

These providers have APIs that the proxy does not implement. Their entries cause a warning. Requests for
their models get 400 with the reason:
${wrap(`${[...foreignProviders].map((name) => `\`${name}\``).join(', ')}.`, '')}

${groupSections}

## \`litellm_settings\`

The sections of [\`litellm_params\`](#litellm_params-of-an-entry) describe the settings that both blocks
have. Here they are defaults for all deployments.

${settings(settingsTable, paramsTable)}

## \`general_settings\`

${settings(generalTable)}

## Paths

A model request is a POST at one of these paths, each with and without \`/v1\`. The path may also contain
the model: \`/engines/{model}/…\`, \`/openai/deployments/{model}/…\`. The proxy sends model requests to an
upstream with the upstream's key:

${servedPaths()}

A POST to any other path gets 404, or 501 for most other paths of LiteLLM. Exceptions are raw requests (below)
and the paths for [keys](../guides/keys.md). The reason is that model servers also have paths for
administration, such as vLLM's \`/v1/load_lora_adapter\` and \`/sleep\`. To serve another path of an upstream,
name it:

\`\`\`yaml
general_settings:
  forwarded_paths: [fim/completions]
\`\`\`

**Several models.** \`model\` of a chat request may be a list: \`"model": "gpt-4o,claude"\`. Each model gets
the request, and the answer is a JSON list with their answers or errors, in the same order. At most 20
models are possible, and no streams. The request counts once for the limits of its key. Each
model has its own line in the log, and counts for the metrics and the usage.

**Raw requests.** The proxy forwards some requests without translating them:

- \`/openai/{path}\`, \`/vllm/{path}\` and \`/gemini/{path}\` reach every path of a server. The proxy uses
  only deployments with \`use_in_pass_through: true\`. For \`/openai/{path}\`, the variable \`OPENAI_API_KEY\` is enough.
- Files, batches and \`/v1/realtime\` need no setting.
- The id of a response contains the deployment. So \`GET\`, \`DELETE\`, \`cancel\` and \`input_items\` below
  \`/v1/responses/{id}\`, and requests with \`previous_response_id\`, reach the upstream that made the
  response. In these paths, ids of the upstream itself work if all deployments have the same address and key,
  and the client's key may use all models.
- The URL of a WebSocket at \`/v1/responses\` may contain the public name: \`?model=…\`. Without it, the proxy
  uses the [account](deviations.md#files-and-batches) of a file without a target. The events pass unchanged, so
  they must contain the upstream's name of the model, and the ids are those of the upstream.

## \`router_settings\`

${settings(routerTable)}

## Entries of \`credential_list\`

${settings(credentialTable)}

## Entries of \`callback_settings\`

[Webhooks](#webhooks) has an example.

${settings(callbackTable)}

## Settings that prevent the start

These settings of LiteLLM restrict access, and the proxy does not implement them. Without them, the proxy
would be more open than the file says. So the proxy does not start; the message names file, line and key. To
start without such a setting, remove it or name it:

\`\`\`yaml
general_settings:
  start_without: [max_budget, guardrails]
\`\`\`

Each item names the block, the effect that the settings have in LiteLLM, and the settings.

${settingsThatAre('refused')}

Some settings prevent the start only with certain values:

- \`guardrails\`, if an item has \`default_on: true\`. The proxy ignores guardrails that a request must enable.
- \`callbacks\`, if an item rejects or changes requests (\`detect_prompt_injection\`), or is custom code
  (\`my_module.handler\`).

## Settings that are ignored

These settings of LiteLLM add features that the proxy does not implement. It logs one warning for each
file, which names them. \`success_callback\` and \`failure_callback\` are ignored only for callbacks that
[the proxy does not have](#opentelemetry).

${settingsThatAre('ignored')}

## Settings that change nothing

The proxy accepts these settings of LiteLLM without a warning: it already does what they request, or has
nothing that they restrict.

${settingsThatAre('fulfilled')}

## Flags

${flags()}

A flag overrides its environment variable. Write \`--flag value\` or \`--flag=value\`. LiteLLM's other
flags have no effect. Each causes a warning that names the alternative. In LiteLLM,
\`--temperature\` and \`--max_tokens\` apply to every request; here, write such parameters into the
params of a model.

These environment variables have no flag:

- \`LITELLM_LOG\` sets the log level: \`ERROR\`, \`WARNING\`, \`INFO\` or \`DEBUG\`; the default is \`INFO\`.
- \`JSON_LOGS\` sets the log format. It overrides \`json_logs\`.
- \`SSL_VERIFY\` overrides \`ssl_verify\` of \`litellm_settings\`.
- \`REQUEST_TIMEOUT\` is the default of \`request_timeout\`. The file overrides it.
- \`HTTPS_PROXY\`, \`HTTP_PROXY\` and \`NO_PROXY\` set a forward proxy for requests to upstreams. The proxy
  reads them at the start.

${signalsSection}
`;
}
