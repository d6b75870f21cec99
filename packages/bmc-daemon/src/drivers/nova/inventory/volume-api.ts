/**
 * The calls of Cinder's API.
 * @see https://docs.openstack.org/api-ref/block-storage/v3/
 */
import { z } from 'zod';
import { listOf, textsSchema } from '../http/answer-forms.js';
import { CloudFailure } from '../http/cloud-failure.js';
import { successOf, type CloudSession } from '../http/session.js';
import { shortLine } from '../http/plain-text.js';

/** A volume. */
export interface Volume {
  /** Null: the volume has no name. */
  readonly name: string | null;
  readonly sizeGiB: number;
  /** Whether a server can boot from the volume. */
  readonly isBootable: boolean;
  /** Device names by the UUID of the server, such as `/dev/vda`. */
  readonly devices: Readonly<Record<string, string>>;
  /** Properties of the image that the volume was created from. */
  readonly imageProperties: Readonly<Record<string, string>>;
}

/** Reads volumes, through a cache. */
export interface Volumes {
  /** Returns a volume; undefined if there is none. @throws as {@link CloudSession.request}. */
  read(id: string): Promise<Volume | undefined>;
  /**
   * Returns a volume; undefined if there is none, if the cloud has no Cinder, or if the read fails or takes
   * too long. Never rejects.
   */
  find(id: string): Promise<Volume | undefined>;
}

const volumeSchema = z.object({
  volume: z.object({
    name: z.string().nullish().catch(null),
    size: z.number(),
    bootable: z.union([z.string(), z.boolean()]).catch(false),
    attachments: listOf(z.object({ server_id: z.string(), device: z.string().nullish() })).default([]),
    volume_image_metadata: textsSchema.catch({}),
  }),
});

/**
 * Returns a volume; undefined if the project cannot see the volume.
 * @throws as {@link CloudSession.request}.
 */
export async function readVolume(id: string, session: CloudSession): Promise<Volume | undefined> {
  const answer = await session.request({
    method: 'GET',
    service: 'volume',
    path: `/volumes/${encodeURIComponent(id)}`,
    headers: {},
  });
  if (answer.status === 404) return undefined;
  const parsed = volumeSchema.safeParse(successOf(answer, `reading volume ${id}`, session, 'volume'));
  if (!parsed.success)
    throw new CloudFailure('interrupted', `reading volume ${id}: Cinder's answer has an unexpected form`);
  const { name, size, bootable, attachments, volume_image_metadata: properties } = parsed.data.volume;
  const shown = shortLine(name ?? '');
  return {
    name: shown === '' ? null : shown,
    sizeGiB: size,
    isBootable: String(bootable) === 'true',
    devices: Object.fromEntries(
      attachments.map(({ server_id: server, device }) => [server.toLowerCase(), device ?? '']),
    ),
    imageProperties: properties,
  };
}
