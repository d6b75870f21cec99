/**
 * Renders docs/reference/model-proxy-configuration.md from the tables of settings and flags.
 * `npm run generate` writes the page, and a test compares it.
 */
import { endpoints } from '../endpoints/index.js';
import type { Table } from './faults.js';
import { flagsTable } from './flags.js';
import { foreignProviders } from './names/known-names.js';
import { unimplemented, type Treatment } from './names/unimplemented.js';
import { credentialTable, entryTable, generalTable, paramsTable, routerTable, settingsTable } from './settings.js';

/** Escapes a cell of a Markdown table. */
const cell = (text: string) => text.replaceAll('|', '\\|');

/** Maximum number of words in a cell. A longer text is in a section below the table. */
const MAX_CELL_WORDS = 15;

const isShort = (text: string) => text.split(/\s+/).length <= MAX_CELL_WORDS;
const firstSentence = (text: string) => /^.*?[.:;](?= )/.exec(text)?.[0].replace(/[:;]$/, '.') ?? text;
const sentences = (text: string) => text.replaceAll(/\. (?=\S)/g, '.\n');

/** A table with a row for each item, and a section for each long text. */
function withSections(head: readonly string[], items: readonly { cells: readonly string[]; doc: string }[]): string {
  return [
    [
      `| ${head.join(' | ')} |`,
      `|${' --- |'.repeat(head.length)}`,
      ...items.map(
        ({ cells, doc }) => `| ${[...cells, isShort(doc) ? doc : firstSentence(doc)].map(cell).join(' | ')} |`,
      ),
    ].join('\n'),
    ...items
      .filter(({ doc }) => !isShort(doc) && firstSentence(doc) !== doc)
      .flatMap(({ cells: [title], doc }) => [`### ${title ?? ''}`, sentences(doc)]),
  ].join('\n\n');
}

function settings(table: Table): string {
  const items = Object.values(table).map(({ name, aliases, expected, default: standard, doc }) => ({
    cells: [[name, ...aliases].map((one) => `\`${one}\``).join(', '), expected, standard],
    doc,
  }));
  return withSections(['Key', 'Value', 'Default', 'Meaning'], items);
}

function flags(): string {
  const items = flagsTable.map(({ flags: names, environment, default: standard, doc }) => ({
    cells: [`\`${names}\``, environment === undefined ? '' : `\`${environment}\``, standard ?? ''],
    doc,
  }));
  return withSections(['Flag', 'Environment', 'Default', 'Meaning'], items);
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

/** Wraps a list at 100 columns. Lines after the first begin with the indent. */
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
          return wrap(`- ${blockNames[block as keyof typeof unimplemented]} (${what}): ${list}`, '  '); // a key of the table
        }),
    )
    .join('\n');
}

const servedPaths = () => wrap(endpoints.map(({ path }) => `\`/v1/${path}\``).join(', '), '');

/** Renders the whole page, with a newline at the end. */
export function renderConfigurationPage(): string {
  return `<!-- Made by \`npm run generate\` from packages/model-proxy/src/config/settings.ts: change that, not this. -->

# Configuration of model-proxy

<!-- commands: installed proxy-conf -->

\`\`\`sh
model-proxy --config config.yaml --validate_config # prints faults and effective settings; exit code 0 or 1
\`\`\`

\`\`\`sh service
model-proxy --config config.yaml
\`\`\`

The file has the format of LiteLLM's proxy:

\`\`\`yaml
model_list:
  - model_name: gpt-oss # public name
    litellm_params:
      model: hosted_vllm/gpt-oss-120b # provider, and name at the upstream
      api_base: https://models.example/v1/
      api_key: os.environ/MODELS_KEY
litellm_settings:
  ssl_verify: ca.pem
  drop_params: true
\`\`\`

- The proxy reads YAML as PyYAML does: \`yes\` and \`off\` are booleans, \`010\` is 8, \`<<\` merges, and
  indentation has no meaning inside \`{…}\`, \`[…]\` and quotes. Dates stay strings. A duplicate key, a
  second document and an empty file are faults.
- Block names work without their prefix: \`params\`, \`settings\`, \`general\`, \`router\`. The proxy also
  recognizes a block with another name by its content (\`model\` with \`api_base\`; \`ssl_verify\` or
  \`drop_params\`), and logs a warning.
- \`os.environ/NAME\` is the value of an environment variable, at any place. A variable that is not set
  stops the start. \`environment_variables\`, a mapping at the top of the file, sets variables and
  overrides those of the process.
- \`include\` adds other files: a path or a list of paths. Their models follow those of the file. If both
  set the same setting, the file itself wins.
- Relative paths are relative to the file that names them (LiteLLM: to the working directory). Paths in
  flags and in the environment are relative to the working directory.
- A configuration without models is rejected, at the start and at a reload. If the key is misspelled
  (\`model_lits\`), the message names \`model_list\`. If none of the models can be served, the proxy
  starts, and \`/health/readiness\` answers 503.
- An unknown key causes a warning with the nearest known name. A wrong type, a variable that is not set,
  and a file that is missing or invalid stop the start. The proxy reports all faults together, one line
  each: \`config.yaml:12: model_list[2].litellm_params.api_base: …\`.
- A LiteLLM setting that is not implemented stops the start if it
  [restricts access](#settings-that-stop-the-start). Otherwise it is
  [ignored](#settings-that-are-ignored), with one warning for each file.
- A misspelled setting stops the start if the setting that it may mean restricts access
  (\`master_kye\`). Such a setting in a wrong block stops the start as well.

## Entries of \`model_list\`

${settings(entryTable)}

## \`litellm_params\` of an entry

${settings(paramsTable)}

All other keys of the params are request parameters (\`temperature: 0.2\`, \`top_k: 20\`,
\`chat_template_kwargs\`): the proxy adds them to requests that do not have them. Unknown names go
upstream as well, with a warning, unless they look misspelled.

**Providers.** \`model\` begins with a provider: \`openai\`, \`hosted_vllm\`, \`openrouter\`, \`groq\`,
\`mistral\`, …. The proxy knows their addresses and the variables for their keys (\`OPENAI_API_KEY\`,
\`HOSTED_VLLM_API_KEY\`, \`HOSTED_VLLM_API_BASE\`). It treats any other name with an \`api_base\` as a
provider with OpenAI's API, and logs a warning. Without a provider prefix, the rules are LiteLLM's:

1. An \`api_base\` at a provider's own address means that provider: \`https://api.groq.com/openai/v1\` is \`groq\`.
2. The name of the model identifies it: \`gpt-4o\` is \`openai\`, \`claude-opus-4-1\` is \`anthropic\`,
   \`gemini-2.5-pro\` is \`vertex_ai\`.
3. Any other name with an \`api_base\` uses OpenAI's API at that address. It gets its own \`api_key\`, and
   no key of the environment.
4. Any other name stops the start, and the message shows the prefix to write. The proxy never sends a
   key to a provider that it only guesses.

Entries of a provider with another API cause a warning, and requests for their models answer 400 with
the reason:
${wrap(`${[...foreignProviders].map((name) => `\`${name}\``).join(', ')}.`, '')}

**Groups.** Entries with the same name are one group. The proxy selects one of them for each request, by
\`weight\`. A request may also name a deployment by its id.

**Wildcards.** \`openai/*\` with \`model: openai/*\` accepts every name of that form, and sends the text
that the star matched to the upstream. The most specific pattern wins. A wildcard never matches a
\`model_name\` of the file, whether it is served or not.

\`model: "*"\` uses the provider in the prefix of the requested name: \`groq/llama-3\` goes to Groq as
\`llama-3\`, with that provider's address and key. A name without a prefix goes to the provider that the
name identifies: \`gpt-4o\` goes to OpenAI. Any other name is an unknown model. An \`api_key\` of such an
entry goes to the provider of the variable that contains it; any other key stops the start. With an
\`api_base\`, the entry sends all names to that address, with its own key.

**Time limits.** \`timeout\` limits a whole plain answer, and the first byte of a stream, because the
total time of a stream is not limited. \`stream_timeout\` limits only the first byte of a stream,
\`idle_timeout\` the pause between two chunks, and \`connect_timeout\` the connection. LiteLLM has one
limit for all of these, so a pause of ten minutes ends a long stream there.

## \`litellm_settings\`

${settings(settingsTable)}

## \`general_settings\`

${settings(generalTable)}

## Paths

The proxy sends a POST to an upstream, with the upstream's key, only at these paths, with and without
\`/v1\`:

${servedPaths()}

Any other path answers 404, or 501 if it is a route of LiteLLM's. The reason is that servers also have
paths for administration, such as vLLM's \`/v1/load_lora_adapter\` and \`/sleep\`. To serve one more path
of an upstream, name it:

\`\`\`yaml
general_settings:
  forwarded_paths: [fim/completions]
\`\`\`

\`/openai/{path}\` and \`/vllm/{path}\` reach every path of a server. They use a deployment only if it has
\`use_in_pass_through: true\`; \`/openai/{path}\` also works with \`OPENAI_API_KEY\`. Files, batches and
\`/v1/realtime\` need no such setting.

## \`router_settings\`

${settings(routerTable)}

## Entries of \`credential_list\`

${settings(credentialTable)}

## Settings that stop the start

These LiteLLM settings restrict access and are not implemented. Without them the proxy would be more open
than the file says, so it does not start. The message names file, line and key. To start without such a
setting, remove it, or name it:

\`\`\`yaml
general_settings:
  start_without: [tpm, guardrails]
\`\`\`

${settingsThatAre('refused')}

Some settings stop the start only with certain values:

- \`guardrails\`, if one has \`default_on: true\`. A guardrail that a request must enable is ignored.
- \`callbacks\`, if one rejects or changes requests (\`detect_prompt_injection\`), or is custom code (\`my_module.handler\`).
- \`optional_pre_call_checks\` with \`router_budget_limiting\`.

## Settings that are ignored

These LiteLLM settings add features that are not implemented. The proxy logs one warning for each file
that lists them.

${settingsThatAre('ignored')}

## Settings that change nothing

These LiteLLM settings are accepted without a warning. The proxy already does what they request, or has
nothing that they could restrict.

${settingsThatAre('fulfilled')}

## Flags

${flags()}

A flag overrides the environment, and the environment overrides the file. Write \`--flag value\` or
\`--flag=value\`. The proxy accepts LiteLLM's other flags without effect, and a warning for each explains
the alternative. LiteLLM applies request parameters (\`--temperature\`, \`--max_tokens\`) to every request;
here they belong into the params of a model.

- \`LITELLM_LOG\` sets the log level: \`ERROR\`, \`WARNING\`, \`INFO\` or \`DEBUG\`; the default is \`INFO\`.
- \`JSON_LOGS\` sets the log format.
- \`HTTPS_PROXY\`, \`HTTP_PROXY\` and \`NO_PROXY\` set a forward proxy to upstreams. They are read at the start.

## Signals and changed files

| Event | Effect |
| --- | --- |
| A file of the configuration changes | The proxy reloads within two seconds. |
| SIGHUP | The proxy reloads at once. |
| SIGTERM, SIGINT | The proxy shuts down with exit code 0. |
| A second SIGTERM or SIGINT | The proxy ends at once. |

**Reload.** The proxy watches the file, included files, CA bundles, certificates and keys. Requests in
progress keep their settings. If the new configuration has a fault, or if none of its models can be
served, the proxy logs this and the old one stays in use.

**Shutdown.** \`/health/readiness\` answers 503 for \`--drain_delay\`. Then the proxy accepts no more
connections, and requests in progress may finish within \`--drain_timeout\`. Then the proxy closes them.

Without \`--drain_delay\` the port closes at once. A probe on a new connection is refused, which load
balancers treat as not ready. Some balancers send requests until their next probe (HAProxy, nginx,
Traefik, a Kubernetes Service for a second or two). For these, set a delay that is longer than the time
between probes. The proxy still serves requests during the delay, with \`connection: close\`.

Delay and timeout together must be shorter than the time after which the platform kills the process:
10 s for \`docker stop\`, 30 s in Kubernetes, \`TimeoutStopSec\` in systemd.

Address, port, certificate paths and log settings change only with a restart.
`;
}
