/** Parts for tests of virtual media: an image, an image server, and requests about a server's drive and power. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bootableIso } from '../support/tiny-guest.js';
import { waitFor } from '../daemon/process.js';
import { send, type Body } from './redfish-client.js';
import type { LabOwner } from './lab.js';

/** The line that a guest prints when it boots from {@link iso}. */
export const PRINTED = 'boot rackless-iso';
/** A bootable ISO image of 1 MiB. */
export const iso = bootableIso({ label: 'rackless-iso' }, 1_048_576);

/** An HTTP server for images, which sends each image with an ETag. */
export interface Images {
  readonly url: string;
  /** Contents by path. */
  readonly contents: Map<string, Buffer>;
  /** Paths of the downloads so far. */
  readonly downloads: string[];
  /** Called when half of a response is sent; must end the response. Default: the server sends all. */
  onHalf: ((response: ServerResponse) => void) | undefined;
  close(): void;
}

/** Starts an image server without images. The caller closes it. */
export async function startImages(): Promise<Images> {
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const content = images.contents.get(path);
    if (content === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-length': content.length, etag: `"${content.length}"` });
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    images.downloads.push(path);
    const { onHalf } = images;
    if (onHalf === undefined) response.end(content);
    else response.write(content.subarray(0, content.length / 2), () => onHalf(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
  const images: Images = {
    url: `http://127.0.0.1:${port}`,
    contents: new Map(),
    downloads: [],
    onHalf: undefined,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return images;
}

/** Returns functions with which a Redfish client uses one server at a daemon. */
export function machineAt(url: string, name: string) {
  const system = `/redfish/v1/Systems/${name}`;
  const drive = `/redfish/v1/Managers/${name}/VirtualMedia/Cd`;
  const read = async (path: string): Promise<Body> => (await send(url, 'GET', path)).body;
  return {
    reset: (type: string) => send(url, 'POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: type }),
    insert: (image: string) => send(url, 'POST', `${drive}/Actions/VirtualMedia.InsertMedia`, { Image: image }),
    eject: () => send(url, 'POST', `${drive}/Actions/VirtualMedia.EjectMedia`, {}),
    drive: () => read(drive),
    setBoot: (boot: object) => send(url, 'PATCH', system, { Boot: boot }),
    boot: async (): Promise<readonly unknown[]> => {
      const boot = (await read(system))['Boot'] as Body; // The schema requires an object.
      return [boot['BootSourceOverrideTarget'], boot['BootSourceOverrideEnabled']];
    },
    power: async () => (await read(system))['PowerState'],
  };
}

/** An image in Glance. */
export type StoredImage = Body & { readonly id: string; readonly status: string; readonly name: string };

/** Returns the images that the service has stored in the lab's Glance. */
export async function storedImages({ session }: LabOwner): Promise<readonly StoredImage[]> {
  const { text } = await session.request({ service: 'image', method: 'GET', path: '/v2/images?tag=rackless-media' });
  return (JSON.parse(text) as { readonly images: StoredImage[] }).images; // Glance sends this object.
}

/** Waits until the last 50 lines that a guest has printed since its start contain a text. */
export async function untilPrinted(owner: LabOwner, name: string, text: string): Promise<void> {
  const { id } = await owner.server(name);
  let last = '';
  await waitFor(
    async () => {
      const body = { 'os-getConsoleOutput': { length: 50 } };
      const answer = await owner.session.request({ method: 'POST', path: `/servers/${id}/action`, body });
      last = answer.text;
      return last.includes(text) ? true : undefined;
    },
    () => `${name} did not print '${text}': ${last}`,
  );
}
