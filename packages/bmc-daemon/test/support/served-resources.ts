/**
 * Serves the resources of a driver on a real socket. The test gives the driver and the settings.
 * EMULATOR_DMTF_STRICT is off.
 */
import { withoutLogin } from '../../src/redfish/authenticate.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { resourcesOf } from '../../src/features.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import { serve } from './client.js';
import { testServices, type TestServices } from './services.js';

/** A JSON object. */
export type Body = Readonly<Record<string, unknown>>;

/** A response of the service. */
export interface ServedAnswer {
  readonly status: number;
  readonly location: string | undefined;
  /** The body without top-level annotations except `@odata.id`; undefined if there is no body. */
  readonly body: Body | undefined;
}

/** The service of a test. */
export interface Served {
  readonly send: (method: string, path: string, body?: object) => Promise<ServedAnswer>;
  /** Returns the body of a GET. Throws if the status is not 200. */
  readonly get: (path: string) => Promise<Body>;
  /** Returns the message keys of an error, for example `PropertyUnknown`. */
  readonly messages: (answer: ServedAnswer) => readonly string[];
  readonly close: () => Promise<void>;
}

/** Starts the service. Its `close` also closes the driver. */
export async function serveResources(driver: HypervisorDriver, parts: TestServices = {}): Promise<Served> {
  const services = testServices(driver, parts);
  const pipeline = createPipeline({
    resources: resourcesOf(driver),
    services,
    authenticate: withoutLogin,
    strict: false,
  });
  const client = await serve((request, response) => void pipeline(request, response, '1'));
  const send: Served['send'] = async (method, path, body) => {
    const { status, headers, json } = await client.send(method, path, body === undefined ? {} : { body });
    // All answers are objects.
    return {
      status,
      location: headers.location,
      body: json === undefined ? undefined : withoutAnnotations(json as Body),
    };
  };
  return {
    send,
    get: async (path) => {
      const { status, body } = await send('GET', path);
      if (status !== 200 || body === undefined) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
      return body;
    },
    messages: ({ body }) =>
      Array.from(JSON.stringify(body ?? {}).matchAll(/"MessageId":"[^"]*\.(\w+)"/g), ([, key = '']) => key),
    close: async () => {
      await client.close();
      await driver.close();
    },
  };
}

function withoutAnnotations(body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([name]) => name === '@odata.id' || !name.startsWith('@')));
}
