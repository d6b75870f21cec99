/** A power operation on a server: through the daemon, and by direct calls to Nova. */
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { CloudSettings } from '../../src/drivers/nova/cloud/cloud-settings.js';
import { createSession } from '../../src/drivers/nova/http/session.js';
import { fetchOnce, type MeasuredDaemon } from '../measured-daemon.js';

/** Power actions of Nova. */
type Action = 'os-start' | 'os-stop';
/** Executes one operation. @returns why it failed; undefined if it succeeded. Rejects if a request gets no answer. */
export type Operate = (id: string, action: Action) => Promise<string | undefined>;

/** A new connection for each request: the daemon could close an idle connection just as the next request is sent. */
const agent = new Agent({ maxSockets: 1000 });

/** Resets through the daemon. If the answer is a task (202), waits until the task has ended. */
export function throughDaemon(daemon: MeasuredDaemon): Operate {
  return async (id, action) => {
    const body = JSON.stringify({ ResetType: action === 'os-start' ? 'On' : 'ForceOff' });
    const answer = await post(`${daemon.url}/redfish/v1/Systems/${id}/Actions/ComputerSystem.Reset`, body);
    if (answer.status === 204) return undefined;
    if (answer.status !== 202) return `${answer.status} ${answer.text}`;
    for (;;) {
      const monitor = await fetchOnce(`${daemon.url}${answer.location}`);
      if (monitor.status < 300 && monitor.status !== 202) return undefined;
      if (monitor.status !== 202) return `${monitor.status} ${monitor.body}`;
      await delay(1000);
    }
  };
}

/** An answer of the daemon. */
interface Posted {
  readonly status: number;
  readonly location: string;
  readonly text: string;
}

function post(url: string, body: string): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
      const { statusCode: status = 0, headers: answered } = response;
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('error', reject).on('end', () => resolve({ status, location: answered.location ?? '', text }));
    });
    sent.on('error', reject).end(body);
  });
}

/** Calls Nova as a client of Nova does: sends the action, then polls without a limit until the server has the state. */
export function direct(cloud: CloudSettings): { readonly operate: Operate; readonly close: () => void } {
  const session = createSession(cloud, { timeoutMs: 600_000 });
  const headers = { 'openstack-api-version': 'compute 2.93' };
  return {
    close: () => session.close(),
    operate: async (id, action) => {
      const path = `/servers/${id}`;
      const body = { [action]: null };
      const sent = await session.request({ method: 'POST', path: `${path}/action`, body, headers });
      if (sent.status !== 202) return `${sent.status} ${sent.text}`;
      const wanted = action === 'os-start' ? '"active"' : '"stopped"';
      for (let pause = 100; ; pause = Math.min(2000, pause * 1.5)) {
        const { text } = await session.request({ method: 'GET', path, headers });
        if (text.includes(`"OS-EXT-STS:vm_state": ${wanted}`) || text.includes(`"OS-EXT-STS:vm_state":${wanted}`)) {
          return undefined;
        }
        await delay(pause);
      }
    },
  };
}
