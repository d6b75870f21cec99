/** The services of a cloud that the driver uses. */

/**
 * The name of each service for users, and its possible types in a catalog. A cloud uses one of
 * these types.
 */
export const cloudServices = {
  compute: { title: 'Nova', types: ['compute'], override: ['compute_endpoint_override'] },
  image: { title: 'Glance', types: ['image'], override: ['image_endpoint_override'] },
  volume: {
    title: 'Cinder',
    types: ['volumev3', 'block-storage'],
    override: ['block_storage_endpoint_override', 'volumev3_endpoint_override', 'volume_endpoint_override'],
  },
} as const;

/** A service by its kind. */
export type CloudService = keyof typeof cloudServices;
