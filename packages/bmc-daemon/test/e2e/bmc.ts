/** A plain HTTP client for Redfish. It uses only the URIs and bodies of the contract. */
import { setTimeout as sleep } from 'node:timers/promises';

/** An answer of the service. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if the response has no body. */
  readonly body: unknown;
}

/** The service of one daemon. */
export class Bmc {
  constructor(
    /** The address of the daemon, such as `http://127.0.0.1:8000`. */
    readonly address: string,
  ) {}

  /** Sends a request. @throws if no complete answer arrives within two minutes, or if its body is not JSON. */
  async send(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${this.address}${path}`, {
      method,
      // No connection is reused, so that the daemon can stop without waiting for idle connections.
      headers: { connection: 'close', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(120_000),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  /**
   * Waits for the end of a task.
   * @returns the last response of the task's monitor, or `answer` itself if no task was created.
   * @throws {Error} if the task still runs after two minutes.
   */
  async finish(answer: Answer): Promise<Answer> {
    const monitor = answer.headers.get('location');
    if (answer.status !== 202 || monitor === null) return answer;
    const deadline = Date.now() + 120_000;
    for (;;) {
      const now = await this.send('GET', new URL(monitor, this.address).pathname);
      if (now.status !== 202) return now;
      if (Date.now() > deadline) throw new Error(`waiting for ${monitor}: ${JSON.stringify(now.body)}`);
      await sleep(50);
    }
  }

  /** Returns the body of a resource. @throws {Error} if the status is not 200. */
  async get(path: string): Promise<unknown> {
    const { status, body } = await this.send('GET', path);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }
}

/** The reset types that these tests send. */
export type ResetType = 'On' | 'ForceOff' | 'GracefulShutdown' | 'GracefulRestart' | 'ForceRestart' | 'Nmi' | 'ForceOn';

/** Target and Enabled of a boot override. */
export interface BootOverride {
  readonly enabled: 'Disabled' | 'Once' | 'Continuous';
  readonly target: string;
}

/**
 * A machine of the service. `reset`, `insert` and `eject` expect success, immediately or, on a slow host,
 * through a task that they follow. `setBoot` expects an immediate answer. Methods whose name begins with
 * `try` return any response.
 */
export class Machine {
  readonly path: string;
  readonly drivePath: string;

  constructor(
    readonly uuid: string,
    private readonly bmc: () => Bmc,
  ) {
    this.path = `/redfish/v1/Systems/${uuid}`;
    this.drivePath = `/redfish/v1/Managers/${uuid}/VirtualMedia/Cd`;
  }

  async powerState(): Promise<unknown> {
    return property(await this.bmc().get(this.path), 'PowerState');
  }

  /** POSTs a reset and returns the response, even an error. */
  async tryReset(type: ResetType): Promise<Answer> {
    return await this.bmc().send('POST', `${this.path}/Actions/ComputerSystem.Reset`, { ResetType: type });
  }

  async reset(type: ResetType): Promise<void> {
    expectStatus(`Reset ${type}`, await this.bmc().finish(await this.tryReset(type)), 204);
  }

  /**
   * Changes the given properties.
   * @returns the override in the response.
   */
  async setBoot(change: Partial<BootOverride>): Promise<BootOverride> {
    const { enabled, target } = change;
    const answer = await this.bmc().send('PATCH', this.path, {
      Boot: {
        ...(target === undefined ? {} : { BootSourceOverrideTarget: target }),
        ...(enabled === undefined ? {} : { BootSourceOverrideEnabled: enabled }),
      },
    });
    expectStatus(`PATCH ${JSON.stringify(change)}`, answer, 200);
    return bootOf(answer.body);
  }

  async boot(): Promise<BootOverride> {
    return bootOf(await this.bmc().get(this.path));
  }

  /** POSTs an InsertMedia and returns the response, even an error. */
  async tryInsert(image: string): Promise<Answer> {
    const path = `${this.drivePath}/Actions/VirtualMedia.InsertMedia`;
    return await this.bmc().send('POST', path, { Image: image, Inserted: true });
  }

  async insert(image: string): Promise<void> {
    expectStatus(`InsertMedia ${image}`, await this.bmc().finish(await this.tryInsert(image)), 204);
  }

  /** POSTs an EjectMedia and returns the response, even an error. */
  async tryEject(): Promise<Answer> {
    return await this.bmc().send('POST', `${this.drivePath}/Actions/VirtualMedia.EjectMedia`);
  }

  async eject(): Promise<void> {
    expectStatus('EjectMedia', await this.bmc().finish(await this.tryEject()), 204);
  }

  /** Returns `Inserted` and `Image` of the drive. */
  async drive(): Promise<{ readonly inserted: unknown; readonly image: unknown }> {
    const body = await this.bmc().get(this.drivePath);
    return { inserted: property(body, 'Inserted'), image: property(body, 'Image') };
  }
}

/** Returns key and text of the first message in an error. */
export function fault(body: unknown): { readonly key: string; readonly text: string } {
  const [first] = property(body, 'error', '@Message.ExtendedInfo') as readonly unknown[]; // Every error has this list.
  const key = String(property(first, 'MessageId')).replace(/^.*\./, '');
  return { key, text: String(property(first, 'Message')) };
}

/** Returns the value at a path of property names in a body; undefined if it is missing. */
export function property(body: unknown, ...path: readonly string[]): unknown {
  let value = body;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !(name in value)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name]; // The line above checks that it is an object.
  }
  return value;
}

function bootOf(system: unknown): BootOverride {
  return {
    // The tests compare both values.
    enabled: property(system, 'Boot', 'BootSourceOverrideEnabled') as BootOverride['enabled'],
    target: property(system, 'Boot', 'BootSourceOverrideTarget') as BootOverride['target'],
  };
}

function expectStatus(what: string, { status, body }: Answer, expected: number): void {
  if (status === expected) return;
  throw new Error(`${what}: expected ${expected}, got ${status} ${JSON.stringify(body)}`);
}
