/**
 * Checks that need no service: form of blocks, links, JSON, samples of configuration. Each check returns
 * the faults that it finds as lines of text.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import yaml from 'js-yaml';

const LANGUAGES = ['sh', 'console', 'text', 'json', 'js', 'ts', 'yaml', 'python', 'ini', 'go', 'xml', 'diff'];
/** Top-level keys of a configuration of model-proxy. */
const PROXY_SECTIONS = ['model_list', 'litellm_settings', 'general_settings', 'router_settings', 'credential_list'];

/** clouds.yaml with the cloud that samples name. The check of bmc-daemon does not connect to this cloud. */
const CLOUDS = `clouds:
  lab:
    auth: {auth_url: 'http://127.0.0.1:5000/v3', application_credential_id: a, application_credential_secret: b}
    auth_type: v3applicationcredential
`;

/**
 * Checks that each block is fenced and has a language. Also checks that the script of a `run by`
 * comment exists and contains the page's path and the heading.
 */
export function checkForm(page) {
  return page.blocks.flatMap((block) => {
    const at = `${page.path}:${block.line}`;
    if (!block.fenced) return [`${at}: an indented block; put it between \`\`\` with its language`];
    if (!LANGUAGES.includes(block.language)) return [`${at}: unknown language '${block.language}'`];
    if (block.runBy === undefined) return [];
    const script = existsSync(block.runBy) ? readFileSync(block.runBy, 'utf8') : '';
    if (script.includes(page.path) && script.includes(`'${block.heading}'`)) return [];
    return [`${at}: ${block.runBy} does not run the commands below '${block.heading}' of ${page.path}`];
  });
}

/**
 * Checks that each HTML comment before a block is a mark, and that each mark for a block is before a block. A mark is
 * a comment with a meaning: see scripts/docs-commands --help.
 */
export function checkMarks(page) {
  return page.wrongMarks.map(({ line, text, reason }) => `${page.path}:${line}: ${text.split('\n')[0]} ${reason}`);
}

/**
 * Checks names of blocks: a block may have a name only in docs/guides/clients.md, and a script of
 * scripts/clients.d must run it.
 */
export function checkNames(page) {
  const folder = 'scripts/clients.d';
  const scripts = readdirSync(folder)
    .filter((name) => name.endsWith('.py'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
  return page.blocks
    .filter(
      (block) => block.name !== '' && !(page.path === 'docs/guides/clients.md' && scripts.includes(`'${block.name}'`)),
    )
    .map((block) => `${page.path}:${block.line}: nothing runs the block '${block.name}'`);
}

/**
 * Checks that relative links lead to files of the repository, and their anchors to headings.
 * @param readPage returns the page at a path.
 */
export function checkLinks(page, readPage) {
  const faults = [];
  for (const { line, url } of page.links) {
    if (/^[a-z+]+:/i.test(url)) continue;
    const [path, anchor] = decodeURI(url).split('#');
    const target = path === '' ? page.path : relative('.', join(dirname(page.path), path)) || '.';
    if (target.startsWith('..') || !existsSync(target)) {
      faults.push(`${page.path}:${line}: ${url}: there is no ${target}`);
      continue;
    }
    if (anchor === undefined || statSync(target).isDirectory() || !target.endsWith('.md')) continue;
    if (!readPage(target).anchors.has(anchor))
      faults.push(`${page.path}:${line}: ${url}: no heading of ${target} has the anchor #${anchor}`);
  }
  return faults;
}

/**
 * Writes files into a folder, runs a daemon's check there, and returns the text of the faults; undefined if there are
 * none.
 */
function complaintOf(files, command, options) {
  const folder = mkdtempSync(join(tmpdir(), 'rackless-sample-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const { status, stdout, stderr } = spawnSync(join(process.cwd(), 'bin', command), options, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...variablesOf(Object.values(files).join('\n')) },
    });
    // model-proxy only warns of an unknown setting, which LiteLLM may know. In a sample, it is a fault.
    return status === 0 && !stderr.includes('is not known') ? undefined : `${stdout}${stderr}`.trim();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the environment variables that a sample reads, each with a value. */
function variablesOf(text) {
  return Object.fromEntries([...text.matchAll(/os\.environ\/(\w+)/g)].map(([, name]) => [name, 'secret']));
}

function checkYaml(text) {
  const parts = yaml.loadAll(text);
  const [settings] = parts;
  if (parts.length !== 1 || !Object.keys(settings).some((key) => PROXY_SECTIONS.includes(key))) return undefined;
  // Completes a sample of a few settings with a model.
  const model =
    'model_list:\n  - {model_name: m, litellm_params: {model: hosted_vllm/m, api_base: "http://127.0.0.1/v1"}}\n';
  const whole = 'model_list' in settings ? text : `${model}${text}`;
  const files = { 'config.yaml': whole, 'ca.pem': readFileSync('/etc/ssl/certs/ca-certificates.crt', 'utf8') };
  return complaintOf(files, 'model-proxy', ['--config', 'config.yaml', '--validate_config']);
}

function checkConf(text) {
  if (!/^EMULATOR_/m.test(text)) return undefined;
  // Ignores the files that a sample names, because they do not exist here.
  const settings = text.replace(/^(EMULATOR_(?:SSL_CERT|SSL_KEY|AUTH_FILE)) = .*$/gm, '$1 = None');
  return complaintOf({ 'bmc-daemon.conf': settings, 'clouds.yaml': CLOUDS }, 'bmc-daemon', [
    'check',
    '--strict',
    '--config',
    'bmc-daemon.conf',
  ]);
}

const SAMPLES = { yaml: checkYaml, python: checkConf, json: (text) => void JSON.parse(text) };

/**
 * Checks blocks without a name: JSON and YAML must parse, and a configuration must pass the check of its
 * daemon.
 */
export function checkSamples(page) {
  return page.blocks.flatMap((block) => {
    if (block.name !== '' || SAMPLES[block.language] === undefined) return [];
    try {
      const complaint = SAMPLES[block.language](block.text);
      return complaint === undefined ? [] : [`${page.path}:${block.line}: ${complaint}`];
    } catch (error) {
      return [`${page.path}:${block.line}: ${error.message}`];
    }
  });
}
