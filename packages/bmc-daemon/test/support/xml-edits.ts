/**
 * Editors of a definition as functions from text to text. Each function parses the text and makes a
 * new text.
 */
import type { BootChoice } from '../../src/drivers/rules/boot-override.js';
import { addStartingMark } from '../../src/drivers/libvirt/machine/process-record.js';
import { changeBoot, changeFirmware, editOwnDefinition } from '../../src/drivers/libvirt/machine/boot-edit.js';
import { DefinitionEdit, edited } from '../../src/drivers/libvirt/xml/definition-edit.js';
import { addCdrom, setDriveMedia } from '../../src/drivers/libvirt/xml/devices/cdrom.js';
import { addDisk, diskLines, removeDisk } from '../../src/drivers/libvirt/xml/devices/disk.js';
import { insertImage, removeImage } from '../../src/drivers/libvirt/xml/devices/removable-drive.js';
import type { MachineRecord, SavedBootOrder } from '../../src/drivers/libvirt/xml/metadata/machine-record.js';
import * as order from '../../src/drivers/libvirt/xml/os/boot-order-edit.js';
import { setFirmware } from '../../src/drivers/libvirt/xml/os/firmware.js';
import { setHardware } from '../../src/drivers/libvirt/xml/os/machine-settings.js';
import { setSecureBoot } from '../../src/drivers/libvirt/xml/os/secure-boot.js';

/** The parameters of an editor after the definition. */
type Rest<Editor> = Editor extends (edit: DefinitionEdit, ...rest: infer Parameters) => unknown ? Parameters : never;

function asText<Parameters extends readonly unknown[]>(
  editor: (edit: DefinitionEdit, ...parameters: Parameters) => unknown,
) {
  return (xml: string, ...parameters: Parameters): string =>
    edited(xml, (edit) => {
      editor(edit, ...parameters);
    });
}

/** Sets the machine's own boot order. */
export const withOwnOrder = asText(order.setOwnOrder);
/** Restores the boot order that an override has replaced. */
export const restoreBootOrder = asText(order.restoreBootOrder);
/** Changes the boot mode. */
export const withFirmware = asText(setFirmware);
/** Changes Secure Boot. Does not update the daemon's record of the UEFI variables. */
export const withSecureBoot = asText(setSecureBoot);
/** Changes the CPUs, the memory, and whether the boot order contains the network. */
export const withHardware = (xml: string, ...rest: Rest<typeof setHardware>): string =>
  edited(xml, (edit) => setHardware(edit, ...rest));
/** Changes the image in a drive. */
export const withDriveMedia = asText(setDriveMedia);
/** Removes the image of a drive, and also the drive if it is a USB stick. */
export const withoutImage = asText(removeImage);
/** Removes a disk. */
export const withoutDisk = asText(removeDisk);
/** Adds a disk. */
export const withDisk = (xml: string, disk: Parameters<typeof diskLines>[0]): string =>
  edited(xml, (edit) => addDisk(edit, diskLines(disk)));
/** Replaces the daemon's record in the metadata. */
export const withMetadata = (xml: string, record: MachineRecord): string =>
  edited(xml, (edit) => edit.setRecord(record));
/** Adds the mark of a start that is not complete. */
export const withStartingMark = (xml: string): string => edited(xml, (edit) => addStartingMark(edit.xml));

/** Overrides the boot order. @param saved the order that an earlier override has replaced. */
export function withBootOrder(
  xml: string,
  target: BootChoice,
  saved?: SavedBootOrder,
): { readonly xml: string; readonly saved: SavedBootOrder } {
  const edit = new DefinitionEdit(xml);
  if (saved !== undefined) order.restoreBootOrder(edit, saved);
  const replaced = order.overrideBootOrder(edit, target);
  return { xml: edit.text(), saved: replaced };
}

/** Adds a CD drive. */
export function withCdrom(
  xml: string,
  media: Parameters<typeof addCdrom>[1],
): { readonly target: string; readonly xml: string } {
  const edit = new DefinitionEdit(xml);
  const target = addCdrom(edit, media);
  return { target, xml: edit.text() };
}

/** Inserts an image. */
export function withImage(xml: string, ...rest: Rest<typeof insertImage>) {
  const edit = new DefinitionEdit(xml);
  const drive = insertImage(edit, ...rest);
  return { ...drive, xml: edit.text() };
}

/** Changes the boot settings of a persistent machine. */
export const withBootChange = (xml: string, change: Parameters<typeof changeBoot>[2]): string =>
  edited(xml, (edit) => changeBoot({ persistent: true }, edit, change));

/** Changes Secure Boot, and updates the record of the UEFI variables. */
export const withSecureBootAndRecord = (xml: string, ...rest: Rest<typeof setSecureBoot>): string =>
  edited(xml, (edit) => changeFirmware(edit, () => setSecureBoot(edit, ...rest)));

/** Changes the machine's own boot order during an override. */
export const withOwnOrderUnderOverride = (xml: string, ...rest: Rest<typeof order.setOwnOrder>): string =>
  edited(xml, (edit) => editOwnDefinition(edit, () => order.setOwnOrder(edit, ...rest)));
