/** The error of a cloud that cannot be used until its settings change. */

/** Faults in the settings of a cloud. Each names its place and its field, and shows no secret. */
export class CloudError extends Error {
  override readonly name = 'CloudError';
  readonly faults: readonly string[];

  /** @param faults one line each: `/etc/openstack/clouds.yaml:7: auth.password …`. */
  constructor(faults: readonly string[], options: { readonly cause?: unknown } = {}) {
    super(faults.join('; '), options);
    this.faults = faults;
  }
}
