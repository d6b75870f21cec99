/** Download settings of drives in a machine's metadata. */
import { untouchedMedia, type MediaDevice, type MediaSettings } from '../../../snapshot/media-snapshot.js';

/** The settings of one drive. */
export interface MediaSettingsRecord extends MediaSettings {
  readonly device: MediaDevice;
}

/** Returns the settings of a device; those of an untouched drive if no client has set any. */
export function mediaSettings(records: readonly MediaSettingsRecord[] | null, device: MediaDevice): MediaSettings {
  const { verifyCertificate, certificates } = records?.find((record) => record.device === device) ?? untouchedMedia;
  return { verifyCertificate, certificates };
}

/**
 * Returns the records with the given settings of a device; null if none is left. Settings of an untouched
 * drive need no record.
 */
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
