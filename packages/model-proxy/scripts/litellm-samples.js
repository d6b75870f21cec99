/**
 * Loads the configuration samples of LiteLLM's documentation with the proxy's loader, and reports
 * which of them serve no model, by reason. The samples are not part of the repository: the variable
 * RACKLESS_LITELLM_SAMPLES names the file, with a JSON object `{source, yaml}` in each line.
 *
 * `node litellm-samples.js` prints the report. `npm run generate` writes it to
 * docs/reference/litellm-samples.md.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { wrap } from './wrap.js';

/** Reads the file of the samples. */
export function readSamples(file) {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/**
 * Texts in angle brackets, and words instead of an address: the reader of the sample replaces them.
 */
const withoutPlaceholders = (yaml) =>
  yaml
    .replace(/(https?:\/\/[^\s"'<]*)<[^<>\n]*>/g, '$1placeholder')
    .replace(
      /((?:api_base|base_url):\s*)(["']?)(?!os\.environ|https?:|["'\s])[^\s"'#,}]+[^\n"'#,}]*\2/g,
      '$1https://placeholder.example ',
    );

/** Variables that LiteLLM's pages about the provider tell the reader to set before the start. */
const variablesOfProviders =
  `AZURE_API_BASE DATABRICKS_API_BASE LM_STUDIO_API_BASE PREDIBASE_TENANT_ID VERTEXAI_PROJECT VERTEXAI_LOCATION
  WATSONX_URL WATSONX_PROJECT_ID AZURE_TENANT_ID AZURE_CLIENT_ID AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION_NAME`.split(
    /\s+/,
  );

/** Variables for which the proxy accepts only certain values, each with such a value. */
const givenVariables = { LITELLM_ENVIRONMENT: 'production' };

/** Values for the variables of the provider, and for those that a sample refers to. */
function environmentOf(yaml) {
  const references = Array.from(yaml.matchAll(/os\.environ\/(\w+)/g), ([, name]) => name);
  const names = [...variablesOfProviders, ...references];
  const valueOf = (name) => (/BASE|URL|ENDPOINT|HOST/.test(name) ? 'https://placeholder.example/v1' : 'placeholder');
  const values = names.map((name) => [name, /RPM|TPM|PORT/.test(name) ? '1' : valueOf(name)]);
  return { ...Object.fromEntries(values), ...givenVariables };
}

/** A fault: file and line, path of the setting, sentence. */
const faultPattern = /^\S*?\.yaml(?::\d+)?: (?:((?:[\w.-]+|\[(?:\d+|"[^"]*")\])+): )?/;
const withoutPlace = (fault) => fault.replace(faultPattern, '');
const nameOf = (fault) => {
  const [, place = ''] = faultPattern.exec(fault) ?? [];
  return place
    .replace(/\[\d+\]/g, '')
    .split('.')
    .at(-1);
};

/** Returns a fault without its place. The text of a fault without a subject begins with the name of the setting. */
const asSentence = (fault) => {
  const text = withoutPlace(fault);
  return /^(?:is|must|has) /.test(text) ? `\`${nameOf(fault)}\` ${text}` : text;
};

/** Faults with which LiteLLM serves no model either. LiteLLM 1.106.2 stops at an entry without name or params. */
const INVALID =
  /not valid YAML|model_list: (?:must be a list|has no entry)|(?:litellm_params|model_name) is missing: the /;

/** The end of the message about a setting that restricts access and is not implemented. */
const PROTECTION = ', and this is not implemented: remove it,';

/** @returns `{kind, reasons}`; kinds: `invalid`, `served`, `refused`, `unserved`. */
function outcomeOf(load, folder, sample) {
  const yaml = withoutPlaceholders(sample.yaml);
  const file = path.join(folder, 'sample.yaml');
  writeFileSync(file, yaml);
  try {
    const { deployments, unserved } = load({ file, environment: environmentOf(yaml), workingDirectory: folder }).proxy;
    if (deployments.length > 0) return { kind: 'served', reasons: [] };
    return { kind: 'unserved', reasons: [...new Set(unserved.values())] };
  } catch (error) {
    if (!Array.isArray(error.faults)) throw error;
    if (error.faults.some((fault) => INVALID.test(fault))) return { kind: 'invalid', reasons: [] };
    const protecting = error.faults.filter((fault) => fault.includes(PROTECTION));
    // `refused` only if all faults are about such settings: without these settings, the proxy would start.
    const isRefused = protecting.length === error.faults.length;
    const protection = (fault) => `\`${nameOf(fault)}\` ${withoutPlace(fault).split(PROTECTION)[0]}`;
    return isRefused
      ? { kind: 'refused', reasons: [...new Set(protecting.map(protection))] }
      : { kind: 'unserved', reasons: [...new Set(error.faults.map(asSentence))] };
  }
}

/**
 * Loads all samples.
 * @param load `loadConfig` of the proxy.
 * @returns `valid`: the number of valid samples. Each other member is a kind with the list of its samples, as
 *   `{source, reasons}`.
 */
export function measure(load, samples) {
  const folder = mkdtempSync(path.join(tmpdir(), 'rackless-samples-'));
  const found = { invalid: [], served: [], refused: [], unserved: [] };
  try {
    for (const sample of samples) {
      const { kind, reasons } = outcomeOf(load, folder, sample);
      found[kind].push({ source: sample.source.replace(/^\S+ /, ''), reasons });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return { ...found, valid: samples.length - found.invalid.length };
}

/** Returns reasons with their samples, the most frequent first. */
function byReason(samples) {
  const groups = new Map();
  for (const { source, reasons } of samples) {
    const reason = reasons.join('; ');
    groups.set(reason, [...(groups.get(reason) ?? []), source]);
  }
  return [...groups].sort((left, right) => right[1].length - left[1].length || (left[0] < right[0] ? -1 : 1));
}

const percent = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`;

function list(samples) {
  return byReason(samples)
    .map(([reason, sources]) => {
      const items = sources.map((source) => `  - \`${source}\``);
      return [wrap(`- ${reason} (${sources.length}):`), ...items].join('\n');
    })
    .join('\n');
}

/** Renders docs/reference/litellm-samples.md. */
export function renderPage({ valid, invalid, served, refused, unserved }) {
  return `<!-- Made by \`npm run generate\` from packages/model-proxy/scripts/litellm-samples.js: change that, not this. -->

# Samples of LiteLLM's documentation

LiteLLM's documentation contains ${valid + invalid.length} configuration samples with a list of models. ${invalid.length} of them are not valid:
the YAML is wrong, the list is empty, or an entry has no name or no params. LiteLLM also serves no
model with these. This page shows what the proxy does with the other ${valid} samples.

Before the check, the script replaces each placeholder for an address by an address. It sets the environment
variables that the sample names, and those that LiteLLM's pages about providers tell the reader to set.

| result | samples | share |
| --- | --- | --- |
| the proxy serves at least one model | ${served.length} | ${percent(served.length, valid)} |
| the proxy does not start, because it lacks a protection | ${refused.length} | ${percent(refused.length, valid)} |
| the proxy serves no model | ${unserved.length} | ${percent(unserved.length, valid)} |

## Samples without a served model

Each item has the reason, the number of samples, and the pages and lines of the samples.

${list(unserved)}

## Samples with a protection that the proxy lacks

The proxy would be more open than these files say, so it
[does not start](model-proxy-configuration.md#settings-that-prevent-the-start).

${list(refused)}
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = process.env['RACKLESS_LITELLM_SAMPLES'];
  if (file === undefined) {
    process.stderr.write('RACKLESS_LITELLM_SAMPLES must name the file with the samples\n');
    process.exit(2);
  }
  const { loadConfig } = await import('../dist/config/load.js');
  process.stdout.write(renderPage(measure(loadConfig, readSamples(file))));
}
