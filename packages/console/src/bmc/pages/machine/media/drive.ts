/** A virtual drive, as the service shows it. */

/** VirtualMedia. */
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

/** Properties of the parts of a drive. */
export interface DriveProps {
  readonly drive: Drive;
  /** Reads the drives again. */
  readonly onChange: () => Promise<void>;
}
