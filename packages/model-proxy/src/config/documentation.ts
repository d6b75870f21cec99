/**
 * docs/model-proxy-configuration.md, made from the tables of settings and flags
 * (`npm run generate`; a test keeps it true).
 */
import { endpoints } from '../endpoints/index.js';
import type { Table } from './faults.js';
import { flagsTable } from './flags.js';
import { foreignProviders } from './known-names.js';
import { unimplemented, type Treatment } from './unimplemented.js';
import { credentialTable, entryTable, generalTable, paramsTable, routerTable, settingsTable } from './settings.js';

/** A cell of a Markdown table: a bar would end it. */
const cell = (text: string) => text.replaceAll('|', '\\|');

function settings(table: Table): string {
  const rows = Object.values(table).map(({ name, aliases, expected, default: standard, doc }) => {
    const names = [name, ...aliases].map((one) => `\`${one}\``).join(', ');
    return `| ${names} | ${cell(expected)} | ${cell(standard)} | ${cell(doc)} |`;
  });
  return ['| Key | Value | Default | Meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function flags(): string {
  const rows = flagsTable.map(({ flags: names, environment, default: standard, doc }) => {
    const variable = environment === undefined ? '' : `\`${environment}\``;
    return `| \`${cell(names)}\` | ${variable} | ${standard ?? ''} | ${cell(doc)} |`;
  });
  return ['| Flag | Environment | Default | Meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
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

function settingsThatAre(treatment: Treatment, heading: string): string {
  const rows = Object.entries(unimplemented).flatMap(([block, groups]) =>
    groups
      .filter((group) => group.treatment === treatment)
      .map(({ what, names }) => {
        const list = [...names].map((name) => `\`${name}\``).join(', ');
        return `| ${blockNames[block as keyof typeof unimplemented]} | ${cell(what)} | ${list} |`; // a key of the table
      }),
  );
  return [`| Block | ${heading} | Settings |`, '| --- | --- | --- |', ...rows].join('\n');
}

const servedPaths = () => endpoints.map(({ path }) => `\`/v1/${path}\``).join(', ');

/** The whole page, with a newline at its end. */
export function renderConfigurationPage(): string {
  return `<!-- Made by \`npm run generate\` from packages/model-proxy/src/config/settings.ts: change that, not this. -->

# Configuration of model-proxy

<!-- commands: installed proxy-conf -->

\`\`\`sh
model-proxy --config config.yaml --validate_config # prints faults and the effective settings, ends with 0 or 1
\`\`\`

\`\`\`sh service
model-proxy --config config.yaml
\`\`\`

The file is that of LiteLLM's proxy:

\`\`\`yaml
model_list:
  - model_name: gpt-oss # what clients ask for
    litellm_params:
      model: hosted_vllm/gpt-oss-120b # provider, and what the upstream calls it
      api_base: https://models.example/v1/
      api_key: os.environ/MODELS_KEY
litellm_settings:
  ssl_verify: ca.pem
  drop_params: true
\`\`\`

- It is YAML as PyYAML reads it: \`yes\` and \`off\` are booleans, \`010\` is 8, \`<<\` merges, and indentation has no meaning within
  \`{…}\`, \`[…]\` and quotes. Dates stay texts. A key twice in a mapping, a second
  document and an empty file are faults.
- The blocks may do without their prefix: \`params\`, \`settings\`, \`general\`, \`router\`. A block with another name is taken for what its contents say
  it is (\`model\` with \`api_base\`; \`ssl_verify\` or \`drop_params\`), with a warning.
- \`os.environ/NAME\` is the value of an environment variable, anywhere. One that is not set stops the start. \`environment_variables\`, a mapping
  at the top of the file, sets variables for that, over those of the process.
- \`include\`, a path or a list of them, adds other files: their models stand behind those of the file, and of a setting that both have, the
  file's own holds.
- Relative paths are relative to the file that names them (LiteLLM: to the working directory); those of flags and of the environment to the
  working directory.
- A configuration without models is refused, at the start and at a reload. When the key is misspelled (\`model_lits\`), the message names
  \`model_list\`. When the file has models but none of them can be served, the proxy starts, and \`/health/readiness\` answers 503.
- A key that is not known is a warning with the nearest known name. A wrong type, a variable that is not set, a file that does not exist or is
  not what it has to be stops the start: a line each, all at once, \`config.yaml:12: model_list[2].litellm_params.api_base: …\`.
- A setting of LiteLLM's that is not implemented stops the start if it [restricts access](#settings-that-stop-the-start). Otherwise it is
  [ignored](#settings-that-are-ignored), with one warning for each file.
- A misspelled setting stops the start if the name that it may mean restricts access (\`master_kye\`). So does such a setting in a wrong block.

## Entries of \`model_list\`

${settings(entryTable)}

## \`litellm_params\` of an entry

${settings(paramsTable)}

Everything else among the params is a parameter of the request (\`temperature: 0.2\`, \`top_k: 20\`, \`chat_template_kwargs\`): requests that do not have it
get it. A name that nobody knows goes upstream too, with a warning, unless it looks misspelled.

**Providers.** \`model\` begins with one: \`openai\`, \`hosted_vllm\`, \`openrouter\`, \`groq\`, \`mistral\`, …, which know their addresses and the variables for their
keys (\`OPENAI_API_KEY\`, \`HOSTED_VLLM_API_KEY\`, \`HOSTED_VLLM_API_BASE\`). Any other name with an \`api_base\` is taken as one that speaks OpenAI's API, with
a warning. Without a provider in front, as in LiteLLM:

1. An \`api_base\` at a provider's own address means that provider: \`https://api.groq.com/openai/v1\` is \`groq\`.
2. The name of the model tells it: \`gpt-4o\` is \`openai\`, \`claude-opus-4-1\` is \`anthropic\`, \`gemini-2.5-pro\` is \`vertex_ai\`.
3. Any other name with an \`api_base\` is asked there by OpenAI's API. It gets its own \`api_key\`, and no key of the environment.
4. Any other name stops the start, and the message has the prefix to write. A key never goes to a provider that is a guess.

Entries of a provider that has an API of its own are a warning, and a request for their model is a 400 that says why:
${[...foreignProviders].map((name) => `\`${name}\``).join(', ')}.

**Several entries of one name** are one group, of which each request meets one, by \`weight\`. A request may also name a deployment by its id. **Wildcards**:
\`openai/*\` with \`model: openai/*\` takes every name of that form and asks the upstream for what the star stood for; the most specific pattern
wins. A \`model_name\` that stands in the file, served or not, is never taken by a wildcard. \`model: "*"\` asks the provider that a name begins with
for the rest of it: \`groq/llama-3\` at Groq for \`llama-3\`, with that provider's address and key. A name without a provider goes where the
name tells, so \`gpt-4o\` goes to OpenAI. Any other name is an unknown model. An \`api_key\` of such an entry goes to the provider whose variable
it comes from; any other key stops the start. With an \`api_base\` of its own the entry asks there, whatever the name, with its own key.

**Time bounds** are apart for what they bound. \`timeout\` is for a whole plain answer and, since a stream may last, for the first byte of a stream;
\`stream_timeout\` is for that first byte alone; \`idle_timeout\` for the silence between two chunks; \`connect_timeout\` for the connection. LiteLLM has one
that is all of these, and a pause of ten minutes in a long stream ends it there.

## \`litellm_settings\`

${settings(settingsTable)}

## \`general_settings\`

${settings(generalTable)}

## Paths

The proxy sends a POST to an upstream, with the upstream's key, only at these paths, with and without \`/v1\`:
${servedPaths()}.

Any other path answers 404, or 501 if it is a route of LiteLLM's. The reason is that servers also have paths for administration,
such as vLLM's \`/v1/load_lora_adapter\` and \`/sleep\`. To serve one more path of an upstream, name it:

\`\`\`yaml
general_settings:
  forwarded_paths: [fim/completions]
\`\`\`

\`/openai/{path}\` and \`/vllm/{path}\` reach every path of a server. They use a deployment only if it has \`use_in_pass_through: true\`;
\`/openai/{path}\` also works with \`OPENAI_API_KEY\`. Files, batches and \`/v1/realtime\` need no such setting.

## \`router_settings\`

${settings(routerTable)}

## Entries of \`credential_list\`

${settings(credentialTable)}

## Settings that stop the start

These settings of LiteLLM's restrict access and are not implemented. Without them the proxy would be more open than the file says, so it does
not start. The message names file, line and key. To start without one of them, remove it, or name it:

\`\`\`yaml
general_settings:
  start_without: [tpm, guardrails]
\`\`\`

${settingsThatAre('refused', 'What they do')}

Some settings are refused by their value:

- \`guardrails\`, if one has \`default_on: true\`. A guardrail that a request has to ask for is ignored.
- \`callbacks\`, if one rejects or changes requests (\`detect_prompt_injection\`), or is code of your own (\`my_module.handler\`).
- \`optional_pre_call_checks\` with \`router_budget_limiting\`.

## Settings that are ignored

These settings of LiteLLM's add a feature that is not implemented. The log names them in one warning for each file.

${settingsThatAre('ignored', 'What they do')}

## Settings that change nothing

These settings of LiteLLM's are accepted without a warning: the proxy already does what they ask for, or has nothing that they could restrict.

${settingsThatAre('fulfilled', 'Why')}

## Flags

${flags()}

A flag wins over the environment, the environment over the file. Flags are \`--flag value\` or \`--flag=value\`. LiteLLM's other flags are accepted and do
nothing, with a warning each that says what does: parameters of requests (\`--temperature\`, \`--max_tokens\`), which LiteLLM puts over every request, stand
among the params of a model here. The level of the log is \`LITELLM_LOG\` (\`ERROR\`, \`WARNING\`, \`INFO\`, \`DEBUG\`; default \`INFO\`), its form \`JSON_LOGS\`. \`HTTPS_PROXY\`,
\`HTTP_PROXY\` and \`NO_PROXY\` lead to upstreams through a forward proxy; they are read at the start.

## Signals and changed files

| What happens | What it does |
| --- | --- |
| The file, one that it includes, a CA bundle, a certificate or a key has changed | Everything is read again, within two seconds. Requests under way end as they began. The proxy reports a new configuration that has a fault, or none of whose models can be served, and the old one stays. |
| SIGHUP | The same, at once. |
| SIGTERM, SIGINT | \`/health/readiness\` answers 503, after \`--drain_delay\` there are no more connections, requests under way may end (\`--drain_timeout\`), then they are cut off; exit code 0. A second signal ends at once. |

Without \`--drain_delay\` the port closes at once, and a probe on a new connection is refused, which counts as unready everywhere. Where a balancer
goes on sending until its next probe (HAProxy, nginx, Traefik, a Kubernetes Service for a second or two), let the delay be longer than the time
between probes: what comes is served, with \`connection: close\`. Delay and time-out together have to be less than what the platform waits
before it kills: 10 s of \`docker stop\`, 30 s of Kubernetes, \`TimeoutStopSec\` of systemd.

Address, port, certificate paths and the log's settings hold from the start to the end.
`;
}
