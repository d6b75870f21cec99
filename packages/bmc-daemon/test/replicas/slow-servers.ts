/** A cloud whose actions take time, for tests of operations that wait for each other. */
import { sendJson, whenRead } from '../support/cloud-server.js';
import type { Service } from './replicas.js';

/** Calls to the servers of a cloud. */
export interface SlowServers {
  /** The accepted actions, and the new values of metadata (`removed` for a DELETE), in their order. */
  readonly writes: string[];
  /** The actions that Nova rejected, because another one ran. */
  readonly rejected: string[];
  /** How often a server is read before its action ends. */
  reads: number;
  /** Ends the running actions of all servers. */
  finish(): void;
}

/**
 * Makes each action of a server last until this server was read `reads` times, and lets clients change its
 * metadata.
 */
export function slowServers({ cloud, servers }: Service): SlowServers {
  const readsLeft = new Map<string, number>();
  const usual = cloud.nova;
  const change = (id: string, parts: object): void => {
    const { body = {} } = servers.all.get(id) ?? {};
    servers.all.set(id, { body: { ...body, ...parts }, changed: Date.now() });
  };
  const seen: SlowServers = {
    writes: [],
    rejected: [],
    reads: 3,
    finish: () => {
      for (const id of readsLeft.keys()) change(id, { 'OS-EXT-STS:task_state': null });
      readsLeft.clear();
    },
  };
  cloud.nova = (request, response, path) => {
    const [, , id = '', part = '', key = ''] = new URL(path, 'http://nova').pathname.split('/');
    if (part === 'action') {
      whenRead(request, (text) => {
        const action = Object.keys(JSON.parse(text) as object)[0] ?? '';
        if (readsLeft.has(id)) {
          seen.rejected.push(action);
          sendJson(response, 409, { conflictingRequest: { message: 'Cannot act while it is in task_state reboot' } });
          return;
        }
        seen.writes.push(action);
        readsLeft.set(id, seen.reads);
        change(id, { 'OS-EXT-STS:task_state': 'rebooting' });
        response.writeHead(202).end();
      });
      return;
    }
    if (part === 'metadata') {
      whenRead(request, (text) => {
        const { metadata } = servers.all.get(id)?.body ?? {};
        // The driver sends this object.
        const parsed = text === '' ? undefined : (JSON.parse(text) as { meta: Record<string, string> });
        const name = decodeURIComponent(key);
        seen.writes.push(parsed?.meta[name] ?? 'removed');
        const others = Object.entries(metadata as object).filter(([other]) => other !== name);
        change(id, { metadata: { ...Object.fromEntries(others), ...parsed?.meta } });
        response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      });
      return;
    }
    const reads = readsLeft.get(id);
    if (reads !== undefined && part === '') {
      if (reads > 1) readsLeft.set(id, reads - 1);
      else {
        readsLeft.delete(id);
        change(id, { 'OS-EXT-STS:task_state': null });
      }
    }
    usual(request, response, path);
  };
  return seen;
}
