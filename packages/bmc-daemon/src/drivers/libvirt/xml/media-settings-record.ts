/** How images of a machine's drives are to be downloaded, as its metadata keeps it: one element, with the records in JSON. */
import { z } from 'zod';
import { MEDIA_DEVICES, untouchedMedia, type MediaDevice, type MediaSettings } from '../../media-snapshot.js';
import { attribute, type XmlElement } from './parse.js';

/** What is kept of one drive, whatever is in it. */
export interface MediaSettingsRecord extends MediaSettings {
  readonly device: MediaDevice;
}

const schema = z.array(
  z.object({
    device: z.enum(MEDIA_DEVICES),
    verifyCertificate: z.boolean().nullable(),
    certificates: z.array(z.object({ id: z.string(), pem: z.string() })),
  }),
);

/** Null: nothing; also for what is not as this version writes it. */
export function readMediaSettings(element: XmlElement): readonly MediaSettingsRecord[] | null {
  try {
    return schema.parse(JSON.parse(attribute(element, 'kept') ?? '')) satisfies readonly MediaSettingsRecord[];
  } catch {
    // A slip in hand-edited metadata must not make a machine unreadable.
    return null;
  }
}

/** The attributes of the element. */
export function renderMediaSettings(records: readonly MediaSettingsRecord[]): Readonly<Record<string, string>> {
  return { kept: JSON.stringify(records) };
}

/** What holds for a kind of drive. */
export function mediaSettings(records: readonly MediaSettingsRecord[] | null, device: MediaDevice): MediaSettings {
  const { verifyCertificate, certificates } = records?.find((record) => record.device === device) ?? untouchedMedia;
  return { verifyCertificate, certificates };
}

/** The records with these settings for a kind of drive; null where nothing is left to keep. */
export function withMediaSettings(
  records: readonly MediaSettingsRecord[] | null,
  device: MediaDevice,
  settings: MediaSettings,
): readonly MediaSettingsRecord[] | null {
  const isUntouched = settings.verifyCertificate === null && settings.certificates.length === 0;
  const others = (records ?? []).filter((record) => record.device !== device);
  const all = isUntouched ? others : [...others, { device, ...settings }];
  return all.length === 0 ? null : all;
}
