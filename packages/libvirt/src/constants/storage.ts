/**
 * Storage enumerations with libvirt's names and values.
 * @see https://libvirt.org/html/libvirt-libvirt-storage.html
 */

/** State of a pool. @see virStoragePoolState */
export const StoragePoolState = { INACTIVE: 0, BUILDING: 1, RUNNING: 2, DEGRADED: 3, INACCESSIBLE: 4 } as const;

/** VALIDATE: check the XML against libvirt's schema. @see virStoragePoolDefineFlags */
export const StoragePoolDefineFlags = { VALIDATE: 1 } as const;

/** Options of a start: whether it builds the pool first. @see virStoragePoolCreateFlags */
export const StoragePoolCreateFlags = {
  NORMAL: 0,
  WITH_BUILD: 1,
  WITH_BUILD_OVERWRITE: 2,
  WITH_BUILD_NO_OVERWRITE: 4,
} as const;

/** Options of a build. OVERWRITE destroys existing data. @see virStoragePoolBuildFlags */
export const StoragePoolBuildFlags = { NEW: 0, REPAIR: 1, RESIZE: 2, NO_OVERWRITE: 4, OVERWRITE: 8 } as const;

/** INACTIVE: the persistent definition of a running pool. @see virStorageXMLFlags */
export const StorageXmlFlags = { INACTIVE: 1 } as const;

/** Filters of a list of pools; 0: all. @see virConnectListAllStoragePoolsFlags */
export const ConnectListAllStoragePoolsFlags = {
  INACTIVE: 1,
  ACTIVE: 2,
  PERSISTENT: 4,
  TRANSIENT: 8,
  AUTOSTART: 16,
  NO_AUTOSTART: 32,
  DIR: 64,
  FS: 128,
  NETFS: 256,
  LOGICAL: 512,
  DISK: 1024,
  ISCSI: 2048,
  SCSI: 4096,
  MPATH: 8192,
  RBD: 16_384,
  SHEEPDOG: 32_768,
  GLUSTER: 65_536,
  ZFS: 131_072,
  VSTORAGE: 262_144,
  ISCSI_DIRECT: 524_288,
} as const;

/** Type of a volume on the host. @see virStorageVolType */
export const StorageVolType = { FILE: 0, BLOCK: 1, DIR: 2, NETWORK: 3, NETDIR: 4, PLOOP: 5 } as const;

/** Options of the creation of a volume. @see virStorageVolCreateFlags */
export const StorageVolCreateFlags = { PREALLOC_METADATA: 1, REFLINK: 2, VALIDATE: 4 } as const;

/** Options of the deletion of a volume. @see virStorageVolDeleteFlags */
export const StorageVolDeleteFlags = { NORMAL: 0, ZEROED: 1, WITH_SNAPSHOTS: 2 } as const;

/** GET_PHYSICAL: the file size instead of the allocation. @see virStorageVolInfoFlags */
export const StorageVolInfoFlags = { USE_ALLOCATION: 0, GET_PHYSICAL: 1 } as const;

/**
 * DELTA: add the size to the current size. SHRINK: required for a smaller size.
 * @see virStorageVolResizeFlags
 */
export const StorageVolResizeFlags = { ALLOCATE: 1, DELTA: 2, SHRINK: 4 } as const;
