/** libvirt for Node: a client of libvirt's RPC protocol, without native code. */
export * from './constants/domain.js';
export * from './constants/event.js';
export * from './constants/interface.js';
export * from './constants/network.js';
export * from './constants/storage.js';
export {
  Domain,
  type DomainBlockInfo,
  type DomainBlockStats,
  type DomainInfo,
  type DomainInterface,
  type DomainStateInfo,
} from './domain.js';
export {
  type ClientErrorCode,
  type ErrorCode,
  type ErrorDomain,
  isLibvirtError,
  LibvirtError,
  type LibvirtErrorDetails,
} from './errors.js';
export {
  type DomainEvent,
  type DomainEventIterator,
  type DomainEventKind,
  type DomainEventListener,
  type DomainEventMap,
  DomainEvents,
  type IterateOptions,
  type Subscription,
} from './events.js';
export { type DomainStats, Hypervisor } from './hypervisor.js';
export { type DomainCapabilitiesQuery, type HypervisorOptions, type OpenOptions } from './hypervisor-options.js';
export { Interface } from './interface.js';
export { type KeepaliveOptions } from './keepalive.js';
export { type CallOptions, type ConnectedOptions, type LinkState } from './link.js';
export { Network, type NetworkDhcpLease } from './network.js';
export {
  type DomainRef,
  type InterfaceRef,
  type NetworkRef,
  type StoragePoolRef,
  type StorageVolumeRef,
} from './protocol/object.js';
export { type Parameters, type ParameterValue } from './protocol/typed-parameter.js';
export { type BackoffOptions } from './reconnecting-connection.js';
export { StoragePool, type StoragePoolInfo } from './storage-pool.js';
export { StorageVolume, type StorageVolumeInfo, type StorageVolumeRange } from './storage-volume.js';
export { LibvirtStream } from './stream.js';
export { type LibvirtUri, parseUri } from './uri.js';
