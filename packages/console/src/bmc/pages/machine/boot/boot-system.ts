/** The properties of a ComputerSystem that concern its boot. */
import type { ResourceView } from '../../../resource.js';
import type { Link } from '../members.js';

/** A boot option of a machine. */
export interface BootOption {
  readonly BootOptionReference: string;
  readonly DisplayName: string;
  readonly UefiDevicePath?: string | null;
}

/** The part of a ComputerSystem that the tab Boot reads. */
export interface BootSystem {
  readonly '@odata.id': string;
  readonly Boot: {
    readonly BootSourceOverrideEnabled?: string | null;
    readonly 'BootSourceOverrideEnabled@Redfish.AllowableValues'?: readonly string[];
    readonly BootSourceOverrideTarget?: string | null;
    readonly 'BootSourceOverrideTarget@Redfish.AllowableValues'?: readonly string[];
    readonly BootSourceOverrideMode?: string | null;
    readonly 'BootSourceOverrideMode@Redfish.AllowableValues'?: readonly string[];
    readonly UefiTargetBootSourceOverride?: string | null;
    readonly HttpBootUri?: string | null;
    readonly BootNext?: string | null;
    readonly BootOptions?: Link;
    readonly BootOrder?: readonly string[];
    /** The properties that the service can change for this machine. */
    readonly '@Redfish.WriteableProperties'?: readonly string[];
  };
}

/** Properties of the forms of the boot override and of the boot order. */
export interface BootFormProps {
  readonly resource: ResourceView<BootSystem>;
  readonly body: BootSystem;
  readonly options: readonly BootOption[];
  readonly isReadOnly: boolean;
}
