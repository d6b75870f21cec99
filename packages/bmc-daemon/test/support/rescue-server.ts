/** A server of a test's cloud that Nova can rescue: its actions, and its metadata, which Nova then locks. */
import { sendJson, whenRead, type NovaHandler } from './cloud-server.js';
import { idOf, type ListedServers } from './listed-servers.js';

/** The server. */
export interface RescueServer {
  /** Bodies of the actions so far, oldest first. */
  readonly actions: unknown[];
  /** Answers its actions and its metadata. @returns false for other requests. */
  readonly handler: (...request: Parameters<NovaHandler>) => boolean;
  vmState(): unknown;
  /** The metadata item with the state; undefined: none. */
  item(): string | undefined;
  /** Sends the answer to the next action instead of Nova. */
  nextAction: NovaHandler | undefined;
  /** Sends the answer to a change of the metadata instead of Nova. Default: Nova stores them. */
  onMetadata: NovaHandler | undefined;
}

const ITEM = 'rackless:state';
const powerStates: Readonly<Record<string, number>> = { stopped: 4 };
/** The state after an action. A server that is rescued allows only `unrescue` and `trigger_crash_dump`. */
const results: Readonly<Record<string, string>> = {
  rescue: 'rescued',
  unrescue: 'active',
  reboot: 'active',
  'os-start': 'active',
  'os-stop': 'stopped',
};

/** Adds the server with this index, which is active. */
export function rescueServer(servers: ListedServers, index: number): RescueServer {
  const id = idOf(index);
  servers.put(index);
  const body = (): Record<string, unknown> => servers.all.get(id)?.body ?? {};
  const metadata = () => body()['metadata'] as Readonly<Record<string, string>>; // as the list of the test has it
  const vmState = (): unknown => body()['OS-EXT-STS:vm_state'];
  const put = (parts: object): void => servers.put(index, { ...body(), ...parts });
  const conflict = { conflictingRequest: { message: `Cannot change instance ${id} while it is in vm_state rescued` } };
  const known = new Array<{ readonly action: string; readonly request_id: string; readonly start_time: string }>();
  const act = (text: string): boolean => {
    const action = JSON.parse(text) as object; // the driver sends objects
    const [name = ''] = Object.keys(action);
    if (vmState() === 'rescued' && name !== 'unrescue') return false;
    server.actions.push(action);
    known.unshift({ action: name, request_id: `req-${known.length}`, start_time: '2026-11-23T01:15:02.960631' });
    const result = results[name] ?? 'active';
    put({ 'OS-EXT-STS:vm_state': result, 'OS-EXT-STS:power_state': powerStates[result] ?? 1 });
    return true;
  };
  const server: RescueServer = {
    actions: [],
    vmState,
    item: () => metadata()[ITEM],
    nextAction: undefined,
    onMetadata: undefined,
    handler: (request, response, path) => {
      const [, , member, part, key = ''] = new URL(path, 'http://nova').pathname.split('/');
      if (member !== id) return false;
      if (part === 'os-instance-actions') sendJson(response, 200, { instanceActions: known });
      else if (part === 'action' && server.nextAction !== undefined) {
        server.nextAction(request, response, path);
        server.nextAction = undefined;
      } else if (part === 'action') {
        whenRead(request, (text) => {
          if (act(text)) response.writeHead(202).end();
          else sendJson(response, 409, conflict);
        });
      } else if (part === 'metadata' && server.onMetadata !== undefined) server.onMetadata(request, response, path);
      else if (part === 'metadata') {
        whenRead(request, (text) => {
          if (vmState() === 'rescued') {
            sendJson(response, 409, conflict);
            return;
          }
          const { [decodeURIComponent(key)]: _old, ...others } = metadata();
          const { meta = {} } = (text === '' ? {} : JSON.parse(text)) as { readonly meta?: object }; // the driver sends objects
          put({ metadata: { ...others, ...meta } });
          sendJson(response, 200, { meta });
        });
      } else return false;
      return true;
    },
  };
  return server;
}
