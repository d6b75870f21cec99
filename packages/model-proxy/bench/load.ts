/** Creates load with wrk, which uses so little CPU that the target is the limit. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cpuTimeUs, LOAD_CORE } from './processes.js';
import { CLIENT_KEY, type Target } from './targets.js';

/** The result of a load. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  /** Time of a request, from its first byte to the last byte of the answer, in microseconds. */
  readonly p50Us: number;
  readonly p99Us: number;
  /** CPU time of the target per request in microseconds; NaN without a `pid`. */
  readonly cpuUs: number;
  /** Number of failed requests. */
  readonly errors: number;
}

export interface LoadOptions {
  readonly url: string;
  /** The body of each request, as JSON. */
  readonly body: string;
  readonly connections: number;
  readonly seconds: number;
  /** Default: {@link CLIENT_KEY}. */
  readonly key?: string;
  /** The process whose CPU time is measured. */
  readonly pid?: number;
  /** Whether requests may fail. Default: a failed request is an error. */
  readonly allowsErrors?: boolean;
}

/** The output of wrk's Lua script. */
interface Summary {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

/**
 * Repeats a POST over a number of connections.
 * @throws {Error} if a request got no answer, or a status of 400 or more, unless the options allow it. Also if wrk
 *   fails, or the process of `pid` has ended.
 */
export async function load(folder: string, options: LoadOptions): Promise<LoadResult> {
  const { url, body, connections, seconds, pid, key = CLIENT_KEY, allowsErrors = false } = options;
  const bodyFile = join(folder, 'request.json');
  const script = join(folder, 'request.lua');
  await Promise.all([writeFile(bodyFile, body), writeFile(script, lua(bodyFile, key))]);
  const before = pid === undefined ? NaN : await cpuTimeUs(pid);
  const { stdout } = await promisify(execFile)('taskset', [
    ...['-c', String(LOAD_CORE), 'wrk', '-t', '1', '-c', String(connections), '-d', `${seconds}s`],
    ...['--timeout', '60s', '-s', script, `${url}/v1/chat/completions`],
  ]);
  const after = pid === undefined ? NaN : await cpuTimeUs(pid);
  const summary = JSON.parse(stdout.slice(stdout.lastIndexOf('{'))) as Summary; // The script prints this object as its last line.
  if (summary.errors > 0 && !allowsErrors) throw new Error(`loading ${url}: ${stdout}`);
  const { requests, microseconds, p50, p99, errors } = summary;
  return {
    requests,
    perSecond: requests / (microseconds / 1e6),
    p50Us: p50,
    p99Us: p99,
    cpuUs: (after - before) / requests,
    errors,
  };
}

/** Loads a target. @throws {Error} as {@link load}. */
export function loadTarget(folder: string, { url, pid }: Target, options: Omit<LoadOptions, 'url' | 'pid'>) {
  return load(folder, { ...options, url, pid });
}

/** @see https://github.com/wg/wrk/blob/master/SCRIPTING */
function lua(bodyFile: string, key: string): string {
  return `
    local file = io.open(${JSON.stringify(bodyFile)}, 'rb')
    wrk.method = 'POST'
    wrk.headers['content-type'] = 'application/json'
    wrk.headers['authorization'] = 'Bearer ${key}'
    wrk.body = file:read('*a')
    file:close()
    function done(summary, latency)
      local e = summary.errors
      io.write(string.format('{"requests": %d, "microseconds": %d, "p50": %.1f, "p99": %.1f, "errors": %d}',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
        e.connect + e.read + e.write + e.status + e.timeout))
    end`;
}
