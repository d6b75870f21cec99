/** The command `model-proxy key`: creates, lists and revokes virtual keys of a running proxy. */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { plainLine } from '@rackless/daemon/text/plain-text.js';
import { callProxy, ProxyCallError, type ProxyAddress } from './proxy-call.js';

/** Splits a list with commas. @param before the items of the same option earlier on the command line. */
const addItems = (text: string, before: readonly string[] = []) => [
  ...before,
  ...text.split(',').filter((item) => item !== ''),
];

function amount(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('It must be a number from 0.');
  return value;
}

function jsonObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // A text that is not JSON gets the same error as JSON that is not an object.
  }
  throw new InvalidArgumentError('It must be a JSON object.');
}

interface GlobalOptions {
  readonly url?: string;
}

/** Members of LiteLLM's API by the names of the options. */
const members: Readonly<Record<string, string>> = {
  alias: 'key_alias',
  model: 'models',
  rpm: 'rpm_limit',
  tpm: 'tpm_limit',
  parallel: 'max_parallel_requests',
  budget: 'max_budget',
  budgetDuration: 'budget_duration',
  duration: 'duration',
  route: 'allowed_routes',
  tag: 'tags',
  metadata: 'metadata',
  user: 'user_id',
  team: 'team_id',
};

function createCommand(addressOf: () => ProxyAddress, write: (text: string) => void): Command {
  const command = new Command('model-proxy key')
    .description('Creates, lists and revokes virtual keys of a running proxy.')
    .option('--url <url>', 'address of the proxy (LITELLM_PROXY_URL)')
    .option('--json', 'print the whole answer')
    .exitOverride();
  command
    .command('create')
    .description('create a key, and print it; it cannot be shown again')
    .option('--alias <name>', 'name for logs and lists')
    .option('--model <names>', 'public names that the key may use, with commas; default: all', addItems)
    .option('--rpm <number>', 'requests per minute', amount)
    .option('--tpm <number>', 'tokens per minute', amount)
    .option('--parallel <number>', 'requests at the same time', amount)
    .option('--budget <amount>', 'maximum cost, in US dollars', amount)
    .option('--budget-duration <time>', 'period after which the counted cost returns to 0: 1d, 30d')
    .option('--duration <time>', 'the key expires after this time: 24h, 90d')
    .option('--route <paths>', 'paths that the key may request, with commas', addItems)
    .option('--tag <names>', 'tags of all its requests, with commas', addItems)
    .option('--metadata <json>', 'a JSON object', jsonObject)
    .option('--user <id>', 'user of the key')
    .option('--team <id>', 'team of the key')
    .action(async (options: Record<string, unknown>) => {
      const body = Object.fromEntries(Object.entries(options).map(([name, value]) => [members[name] ?? name, value]));
      const answer = await callProxy(addressOf(), 'POST', '/key/generate', body);
      write(isJson(command) ? JSON.stringify(answer, null, 2) : String(answer['key']));
    });
  command
    .command('list')
    .description('list all keys')
    .action(async () => {
      const keys = await allKeys(addressOf());
      write(isJson(command) ? JSON.stringify(keys, null, 2) : tableOf(keys));
    });
  command
    .command('revoke')
    .description('delete keys')
    .argument('<keys...>', 'keys that begin with sk-, digests or aliases')
    .action(async (keys: string[]) => {
      for (const key of keys) {
        const isKey = key.startsWith('sk-') || /^[0-9a-f]{64}$/.test(key);
        await callProxy(addressOf(), 'POST', '/key/delete', isKey ? { keys: [key] } : { key_aliases: [key] });
        write(`revoked ${isKey ? 'the key' : plainLine(key)}`);
      }
    });
  return command;
}

const isJson = (command: Command) => command.opts<{ readonly json?: boolean }>().json === true;

/** A key of `/key/list`. */
type ListedKey = Readonly<Record<string, unknown>>;

const PAGE_SIZE = 100;

async function allKeys(address: ProxyAddress): Promise<ListedKey[]> {
  const keys: ListedKey[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await callProxy(address, 'GET', `/key/list?return_full_object=true&size=${PAGE_SIZE}&page=${page}`);
    const { keys: more, total_pages: pages } = answer as { readonly keys: ListedKey[]; readonly total_pages: number }; // The proxy sends this object.
    keys.push(...more);
    if (page >= pages) return keys;
  }
}

const columns = ['token', 'key_name', 'key_alias', 'status', 'spend', 'max_budget', 'expires'] as const;

function tableOf(keys: readonly ListedKey[]): string {
  const cell = (value: unknown): string =>
    value === null || value === undefined ? '-' : plainLine(typeof value === 'string' ? value : JSON.stringify(value));
  const rows = [columns.map(String), ...keys.map((key) => columns.map((column) => cell(key[column])))];
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((text, index) => text.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * Runs the command.
 * @param args without `key`.
 * @returns the exit code.
 */
export async function keyCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const write = (text: string) => void process.stdout.write(`${text}\n`);
  const addressOf = (): ProxyAddress => ({
    url: command.opts<GlobalOptions>().url ?? environment['LITELLM_PROXY_URL'] ?? 'http://127.0.0.1:4000',
    // The key is not an option, because other users of the host can read the arguments of a
    // process.
    key: environment['LITELLM_MASTER_KEY'] ?? environment['LITELLM_PROXY_API_KEY'] ?? '',
  });
  const command = createCommand(addressOf, write);
  try {
    await command.parseAsync([...args], { from: 'user' });
    return exitCode.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    if (!(error instanceof ProxyCallError)) throw error;
    process.stderr.write(`model-proxy: ${error.message}\n`);
    return exitCode.failed;
  }
}
