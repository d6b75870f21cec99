/** Download settings of drives in a machine's metadata: one element, with JSON. */
import { z } from 'zod';
import {
  MEDIA_DEVICES,
  untouchedMedia,
  type MediaDevice,
  type MediaSettings,
} from '../../../snapshot/media-snapshot.js';
import { attribute, type XmlElement } from '../parse.js';

/** The settings of one drive. */
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

/** Reads the settings; null if there are none, or the format is unknown. */
export function readMediaSettings(element: XmlElement): readonly MediaSettingsRecord[] | null {
  try {
    return schema.parse(JSON.parse(attribute(element, 'kept') ?? '')) satisfies readonly MediaSettingsRecord[];
  } catch {
    // A mistake in edited metadata must not make a machine unreadable.
    return null;
  }
}

/** Returns the attributes of the element. */
export function renderMediaSettings(records: readonly MediaSettingsRecord[]): Readonly<Record<string, string>> {
  return { kept: JSON.stringify(records) };
}

/** Returns the settings of a device. */
export function mediaSettings(records: readonly MediaSettingsRecord[] | null, device: MediaDevice): MediaSettings {
  const { verifyCertificate, certificates } = records?.find((record) => record.device === device) ?? untouchedMedia;
  return { verifyCertificate, certificates };
}

/** Returns the records with these settings of a device; null if none is left. */
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
