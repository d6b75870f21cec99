/** The services of a cloud that the driver uses. */

/** Their names for users, and their types in a catalog. A cloud has one of the types. */
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
