/** Facts of machines and drives that have been read. */
import type { Machine } from './machines.js';

/** A virtual drive (VirtualMedia). */
export interface Drive {
  readonly '@odata.id': string;
  readonly Id: string;
  readonly Name: string;
  readonly Inserted?: boolean | null;
  readonly Image?: string | null;
  readonly ImageName?: string | null;
  readonly ConnectedVia?: string | null;
  readonly WriteProtected?: boolean | null;
  readonly VerifyCertificate?: boolean | null;
  readonly Actions?: {
    readonly '#VirtualMedia.InsertMedia'?: {
      readonly target: string;
      readonly 'TransferMethod@Redfish.AllowableValues'?: readonly string[];
    };
    readonly '#VirtualMedia.EjectMedia'?: { readonly target: string };
  };
  readonly Oem?: { readonly Rackless?: { readonly UploadURI?: string } };
}

/** Returns the reset types that a machine offers. */
export function resetTypes({ Actions }: Machine): readonly string[] {
  return Actions?.['#ComputerSystem.Reset']?.['ResetType@Redfish.AllowableValues'] ?? [];
}

/** Returns a name of each inserted image: its own name, the end of its URL, or the name of the drive. */
export function imageNames(of: readonly Drive[]): readonly string[] {
  return of.flatMap(({ Inserted, ImageName, Image, Name }) =>
    Inserted === true ? [ImageName ?? Image?.split('/').at(-1) ?? Name] : [],
  );
}
