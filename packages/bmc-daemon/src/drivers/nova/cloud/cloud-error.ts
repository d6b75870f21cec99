/** The error of a cloud that the daemon cannot use: its settings or the cloud itself must change. */

/**
 * Faults of a cloud. A fault in the settings names its place and its field, such as
 * `/etc/openstack/clouds.yaml:7: auth.password …`. No fault shows a secret.
 */
export class CloudError extends Error {
  override readonly name = 'CloudError';
  readonly faults: readonly string[];

  /** @param faults one line each. */
  constructor(faults: readonly string[], options: { readonly cause?: unknown } = {}) {
    super(faults.join('; '), options);
    this.faults = faults;
  }
}

/** The catalog has no endpoint of a service for the region and the interface of the settings. */
export class NoEndpointError extends CloudError {}
