/**
 * Loads the complete configuration: reads file, flags and environment, checks them, and resolves
 * them to typed values.
 */
import type { Environment, ListenSettings, ProxySettings } from '../settings.js';
import { findBlock, hasValues, mergeBlocks, type FoundBlock } from './blocks.js';
import { readAccess, warnOfMasterKey } from './access.js';
import { readBodySettings } from './body-settings.js';
import { defaults } from './defaults.js';
import { readDocuments, readDocumentsWith, type ReadText } from './documents.js';
import { readEnvironmentDeployment } from './deployments/environment-deployment.js';
import { noteEnvironment, readStartWithout } from './names/environment-names.js';
import { resolveInSteps, withVariables } from './environment-references.js';
import { COMMAND_LINE, ConfigError, ENVIRONMENT, Findings, readBlock, type Block } from './faults.js';
import { fromEnvironment, readSeconds } from './given-text.js';
import { readListenSettings, type Flags } from './listen-settings.js';
import { readModelList, type Entry } from './deployments/model-list.js';
import { noteMissingModels } from './deployments/missing-models.js';
import { readAliases } from './deployments/model-group-alias.js';
import { readRoutingSettings } from './routing/routing-settings.js';
import { routerTable } from './routing/router-table.js';
import { runAtOnce, runInSlices, type Steps } from '@rackless/daemon/process/slices.js';
import { credentialTable, generalTable, settingsTable } from './settings.js';
import { TlsResolver } from './tls-settings.js';
import { readWebhooks } from './callbacks/webhook-settings.js';
import {
  generalNames,
  IgnoredSettings,
  reportUnknownKeys,
  routerNames,
  settingsNames,
  topNames,
  type Notes,
} from './names/unknown-keys.js';
import { parseYamlBeside } from '@rackless/daemon/yaml/parse-beside.js';
import type { YamlMapping, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

export type { Flags } from './listen-settings.js';
export { ConfigError } from './faults.js';

/** Options of {@link loadConfig}. */
interface LoadOptions {
  /** Path of the file as given; undefined if the flags name the only model. */
  readonly file?: string | undefined;
  readonly flags?: Flags;
  readonly environment?: Environment;
  /** Base of a relative `file`, of relative paths in flags and environment variables, and of `store`. */
  readonly workingDirectory?: string;
  /** Reads a file of the configuration, by its absolute path. Default: from the disk. */
  readonly readText?: ReadText;
}

/** A valid configuration. */
export interface LoadedConfig {
  readonly listen: ListenSettings;
  readonly proxy: ProxySettings;
  /** The environment of the process, overridden by the file's `environment_variables`. */
  readonly environment: Environment;
  /** One line for each warning, beginning with the place. */
  readonly warnings: readonly string[];
  /**
   * Absolute paths of all files of this configuration. A change of one of them requires a reload.
   */
  readonly watchedFiles: readonly string[];
}

const noVariables: Environment = {};

/**
 * Loads a configuration.
 * @throws {ConfigError} with all faults. If a file cannot be read or parsed: only with the faults of such files.
 */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const findings = new Findings();
  const complete = withDefaults(options);
  return runAtOnce(readSettings(complete, readDocuments(complete, findings), findings));
}

/**
 * Loads a configuration while the process serves clients: another thread parses the files, and this thread checks
 * their values in slices.
 * @throws {ConfigError} as {@link loadConfig}.
 */
export async function loadConfigInBackground(options: LoadOptions, parse = parseYamlBeside): Promise<LoadedConfig> {
  const findings = new Findings();
  const complete = withDefaults(options);
  return runInSlices(readSettings(complete, await readDocumentsWith(parse, complete, findings), findings));
}

type CompleteOptions = ReturnType<typeof withDefaults>;

function withDefaults(options: LoadOptions) {
  const { flags = {}, environment = noVariables, workingDirectory = process.cwd() } = options;
  return { ...options, flags, environment, workingDirectory };
}

function* readSettings(
  { flags, environment, workingDirectory, file }: CompleteOptions,
  documents: readonly YamlMapping[],
  findings: Findings,
): Steps<LoadedConfig> {
  const ignoredSettings = new IgnoredSettings();
  // If a file cannot be read or parsed, further faults would be misleading.
  if (documents.length === 0 || findings.faultCount > 0) throw failed(findings, ignoredSettings);

  const variables = withVariables(
    environment,
    environmentBlock(documents, findings),
    ['environment_variables'],
    findings,
  );
  const roots: YamlMapping[] = [];
  for (const root of documents) roots.push(yield* resolveInSteps(withoutEnvironment(root), variables, findings));

  const settingsBlock = settingsOf(roots, findings);
  const settings = readBlock(settingsTable, settingsBlock?.node, settingsBlock?.path ?? [], findings);
  const general = readNamed(roots, generalTable, ['general_settings', 'general'], findings);
  const router = readNamed(roots, routerTable, ['router_settings', 'router'], findings);
  const { webhooks, callbacks } = readWebhooks({ roots, rest: settings.rest, variables, findings, ignoredSettings });
  const notes = { findings, ignoredSettings, callbacks };
  readStartWithout(general.block, notes);
  noteEnvironment(variables, notes);
  reportUnknownKeys(settings.rest, settingsBlock?.path ?? [], settingsNames, notes);
  reportUnknownKeys(general.block.rest, general.path, generalNames, notes);
  reportUnknownKeys(router.block.rest, router.path, routerNames, notes);
  for (const root of roots) noteTopKeys(root, settingsBlock, notes);

  const tls = new TlsResolver({ environment: variables, workingDirectory, findings });
  // Reports faults of the general TLS settings even if no deployment uses these settings.
  tls.resolve(undefined, settings);
  const inherited = {
    settings,
    router: router.block,
    general: general.block,
    credentials: readCredentials(listOf(roots, 'credential_list', findings), findings),
    tls,
    environment: variables,
    requestTimeoutSeconds:
      readSeconds(fromEnvironment(variables, 'REQUEST_TIMEOUT'), findings) ?? defaults.requestTimeoutSeconds,
    findings,
    ignoredSettings,
  };
  const entries = listOf(roots, 'model_list', findings);
  if (entries.length === 0) noteMissingModels(roots, file, isKnownTopKey, findings);
  const { deployments, unserved } = yield* readModelList(entries, inherited);
  const aliases = readAliases(router.block, deployments, findings);
  const block = { general: general.block, webhooks, ignoredSettings };
  const listen = readListenSettings({ flags, environment, variables, settings, workingDirectory, findings, ...block });
  const masterKey = readMasterKey(general.block, variables, findings);
  const access = readAccess({ ...block, settings, hasMasterKey: masterKey !== null, findings });
  if (findings.faultCount > 0) throw failed(findings, ignoredSettings);

  if (deployments.length === 0) warnOfNoModel(file, findings);
  warnOfMasterKey(masterKey, listen, findings);
  return {
    listen,
    proxy: {
      deployments,
      modelGroupAlias: aliases.groups,
      hiddenAliases: aliases.hidden,
      unserved,
      environmentDeployment: readEnvironmentDeployment(inherited),
      ...readRoutingSettings(router.block, settings, general.block),
      ...readBodySettings(settings, general.block),
      countsUsage: listen.store !== null || webhooks.length > 0,
      ...access,
      forwardedPaths: new Set(general.block.values.forwardedPaths),
      forwardClientHeaders: general.block.values.forwardClientHeaders ?? false,
      clientKeys: masterKey === null ? null : new Set([masterKey]),
    },
    environment: variables,
    warnings: [...findings.warnings, ...ignoredSettings.warnings],
    watchedFiles: [...findings.watchedFiles],
  };
}

function warnOfNoModel(file: string | undefined, findings: Findings): void {
  const place = file ?? 'command line';
  findings.warnAt(COMMAND_LINE, `${place}: no entry of model_list can be served: /health/readiness answers 503`);
}

function failed(findings: Findings, ignoredSettings: IgnoredSettings): ConfigError {
  return new ConfigError(
    findings.faults,
    [...findings.warnings, ...ignoredSettings.warnings],
    [...findings.watchedFiles],
  );
}

const ENVIRONMENT_BLOCK = 'environment_variables';

function environmentBlock(roots: readonly YamlMapping[], findings: Findings): YamlMapping | undefined {
  const found = roots.map((root) => findBlock(root, [], { names: [ENVIRONMENT_BLOCK] }, findings));
  return mergeBlocks(found.filter((block) => block !== undefined))?.node;
}

/**
 * Removes `environment_variables`: its references are already resolved, from the environment of the
 * process only.
 */
function withoutEnvironment(root: YamlMapping): YamlMapping {
  return { ...root, members: new Map([...root.members].filter(([key]) => key !== ENVIRONMENT_BLOCK)) };
}

/**
 * Returns whether the proxy accepts a top-level key. Keys `x-…` and `.…` may contain anything: as in
 * compose and GitLab files, they are for YAML anchors.
 */
const isKnownTopKey = (key: string) => topNames.settings.includes(key) || /^(x-|\.)/.test(key);

function settingsOf(roots: readonly YamlMapping[], findings: Findings): FoundBlock | undefined {
  const found = roots.map((root) =>
    findBlock(
      root,
      [],
      {
        names: ['litellm_settings', 'settings'],
        looksLike: (node) => hasValues(node, 'ssl_verify') || hasValues(node, 'drop_params'),
        isTaken: isKnownTopKey,
      },
      findings,
    ),
  );
  return mergeBlocks(found.filter((block) => block !== undefined));
}

function readNamed<T extends typeof generalTable | typeof routerTable>(
  roots: readonly YamlMapping[],
  table: T,
  names: readonly [string, ...string[]],
  findings: Findings,
): { readonly block: Block<T>; readonly path: readonly string[] } {
  const found = roots.map((root) => findBlock(root, [], { names }, findings));
  const merged = mergeBlocks(found.filter((block) => block !== undefined));
  const path = merged?.path.map(String) ?? [names[0]];
  return { block: readBlock(table, merged?.node, path, findings), path };
}

function noteTopKeys(root: YamlMapping, settings: FoundBlock | undefined, notes: Notes): void {
  reportUnknownKeys(
    [...root.members].filter(([key]) => !isKnownTopKey(key) && key !== settings?.path[0]),
    [],
    topNames,
    notes,
  );
}

/** Concatenates the lists with this name of all files. A value that is no list is a fault. */
function listOf(roots: readonly YamlMapping[], name: string, findings: Findings): readonly Entry[] {
  return roots.flatMap((root) => {
    const list = root.members.get(name);
    if (list === undefined || (list.kind === 'scalar' && list.value === null)) return [];
    if (list.kind === 'sequence') return list.items.map((node, index): Entry => ({ node, path: [name, index] }));
    findings.fault(list, [name], 'must be a list');
    return [];
  });
}

function readCredentials(entries: readonly Entry[], findings: Findings): ReadonlyMap<string, YamlMapping> {
  const credentials = new Map<string, YamlMapping>();
  for (const { node, path } of entries) {
    if (node.kind !== 'mapping') {
      findings.fault(node, path, 'must be a mapping with credential_name and credential_values');
      continue;
    }
    const { values } = readBlock(credentialTable, node, path, findings);
    const given: YamlNode | undefined = node.members.get(credentialTable.credentialValues.name);
    if (values.credentialName === undefined || given?.kind !== 'mapping')
      findings.fault(node, path, 'needs credential_name and credential_values');
    else credentials.set(values.credentialName, given);
  }
  return credentials;
}

/**
 * Reads the key from the file, or from `LITELLM_MASTER_KEY` if the file has none. An empty key is a fault, because it
 * could mean "no key" or be a mistake.
 */
function readMasterKey(
  general: Block<typeof generalTable>,
  environment: Environment,
  findings: Findings,
): string | null {
  if (general.places.has('masterKey')) return general.values.masterKey ?? null;
  const variable = environment['LITELLM_MASTER_KEY'];
  if (variable === undefined) return null;
  const { data } = generalTable.masterKey.type.safeParse(variable);
  if (data === undefined)
    findings.faultAt(
      ENVIRONMENT,
      'environment: LITELLM_MASTER_KEY must be a string that is not empty and is valid in a header: unset it to run without a key',
    );
  return data ?? null;
}
