/** The services of a cloud that the driver uses. */

/**
 * `title`: the name for users. `types`: the possible types in a catalog, one of which a cloud uses.
 * `override`: the fields of `clouds.yaml` with a URL that replaces the catalog's.
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

/** The key of a service in {@link cloudServices}. */
export type CloudService = keyof typeof cloudServices;
