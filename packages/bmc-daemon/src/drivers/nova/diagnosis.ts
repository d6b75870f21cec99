/** Examines an OpenStack cloud for `bmc-daemon doctor`. */
import { z } from 'zod';
import { withDeadline } from '@rackless/daemon/deadline.js';
import { commandLine, editCommand } from '../../findings/commands.js';
import { note, problem, warning, type Finding } from '../../findings/finding.js';
import { CloudError } from './cloud/cloud-error.js';
import { cloudServices, type CloudService } from './cloud/cloud-services.js';
import type { CloudSettings } from './cloud/cloud-settings.js';
import { createComputeRequests, VERSION_MS } from './compute/compute-requests.js';
import { jsonOf } from './http/answer-text.js';
import { RejectedCredentials } from './http/cloud-failure.js';
import { createSession, type CloudSession } from './http/session.js';

/** The effect of a missing or failing service: the end of a sentence. */
const effects: Readonly<Record<CloudService, string>> = {
  compute: 'so the daemon has no machines',
  image: 'so clients cannot insert images',
  volume: 'so machines show no volumes',
};

/** Nova reports unlimited values as -1. */
const limitsSchema = z.object({
  limits: z.object({ absolute: z.object({ maxServerMeta: z.number().optional() }) }),
});

/**
 * Examines a cloud with the credentials of its settings. Never rejects, and ends within the time
 * limit.
 * @param timeoutMs time limit for all requests together.
 */
export async function diagnoseCloud(cloud: CloudSettings, timeoutMs: number): Promise<readonly Finding[]> {
  const session = createSession(cloud, { timeoutMs });
  const run = (...words: readonly string[]): string => commandLine('openstack', '--os-cloud', cloud.name, ...words);
  const noAnswer = problem(
    'cloud',
    `The cloud did not answer within ${timeoutMs / 1000} s, so requests for its machines get 503.`,
    run('server', 'list'),
  );
  try {
    return await withDeadline(examine(session, run), timeoutMs, () => [noAnswer]);
  } finally {
    session.close();
  }
}

type Run = (...words: readonly string[]) => string;

async function examine(session: CloudSession, run: Run): Promise<readonly Finding[]> {
  try {
    // The first request gets the token. Without a token, all other requests fail for the same reason, so the
    // report has only this problem.
    await session.projectId();
  } catch (error) {
    return [cloudFinding('credentials', error, run('token', 'issue'))];
  }
  const findings = await Promise.all([
    findingsOf('compute', examineCompute(session, run), run('server', 'list')),
    findingsOf(
      'image',
      examineService(session, 'image', '/v2/images?limit=1', run),
      run('image', 'list', '--limit', '1'),
    ),
    findingsOf('volume', examineService(session, 'volume', null, run), run('volume', 'list', '--limit', '1')),
  ]);
  return findings.flat();
}

async function findingsOf(subject: string, work: Promise<readonly Finding[]>, command: string) {
  try {
    return await work;
  } catch (error) {
    return [cloudFinding(subject, error, command)];
  }
}

/** Examines Nova: its API version, the access to servers, and the quota of metadata. */
async function examineCompute(session: CloudSession, run: Run): Promise<readonly Finding[]> {
  const requests = createComputeRequests(session, { maxAgeMs: VERSION_MS });
  const [servers, items] = await Promise.all([
    requests.get('/servers', { limit: '1' }),
    requests.get('/limits').then(
      (answer) => limitsSchema.safeParse(jsonOf(answer)).data?.limits.absolute.maxServerMeta,
      // The daemon does not need this request, and a cloud may forbid it. So a failure is no problem.
      () => undefined,
    ),
  ]);
  const findings: Finding[] = [];
  if (servers.status !== 200) {
    const message = `Nova rejects the list of servers (${session.reason(servers)}), so the daemon has no machines.`;
    findings.push(problem('compute', message, run('server', 'list')));
  }
  // The daemon stores the state of a machine in one item of its metadata.
  if (items === 0) {
    const message = 'The quota allows no metadata of servers, so the daemon cannot store boot overrides and images.';
    findings.push(problem('quota', message, run('quota', 'set', '--properties', '128', 'PROJECT')));
  }
  return findings;
}

/**
 * Examines a service that the daemon can do without.
 * @param path the path of a short list; null: checks only that there is an endpoint.
 * @throws as {@link CloudSession.request}, but an invalid URL is a finding.
 */
async function examineService(
  session: CloudSession,
  name: CloudService,
  path: string | null,
  run: Run,
): Promise<readonly Finding[]> {
  const { title } = cloudServices[name];
  try {
    if (await session.offers(name)) return path === null ? [] : await examineList(session, name, path, run);
    const message = `The catalog of the cloud has no usable endpoint of ${title}, ${effects[name]}.`;
    const command = run('catalog', 'list');
    return [name === 'volume' ? note(name, message, command) : warning(name, message, command)];
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    // The URL in the catalog is invalid. Unlike an invalid URL of Nova, it does not stop the daemon.
    const command = editCommand(error.message) ?? run('catalog', 'list');
    return [warning(name, `${error.message}, ${effects[name]}.`, command)];
  }
}

/** Reads a short list of a service. @throws as {@link CloudSession.request}. */
async function examineList(
  session: CloudSession,
  name: CloudService,
  path: string,
  run: Run,
): Promise<readonly Finding[]> {
  const { title } = cloudServices[name];
  const answer = await session.request({ method: 'GET', service: name, path });
  if (answer.status === 200) return [];
  return [warning(name, `${title} answers ${session.reason(answer)}, ${effects[name]}.`, run(name, 'list'))];
}

function cloudFinding(subject: string, error: unknown, command: string): Finding {
  const reason = error instanceof Error ? error.message : String(error);
  const isPermanent = error instanceof CloudError || error instanceof RejectedCredentials;
  const effect = isPermanent ? 'so the daemon does not start' : 'so requests for its machines get 503';
  return problem(subject, `${reason.replace(/\.$/, '')}, ${effect}.`, editCommand(reason) ?? command);
}
