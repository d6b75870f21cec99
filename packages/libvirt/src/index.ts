/** libvirt for Node: a client of libvirt's RPC protocol, without native code. */
export * from './constants/domain.js';
export * from './constants/event.js';
export * from './constants/interface.js';
export * from './constants/network.js';
export * from './constants/node.js';
export * from './constants/storage.js';
export {
  Domain,
  type DomainBlockInfo,
  type DomainBlockStats,
  type DomainInfo,
  type DomainInterface,
  type DomainStateInfo,
} from './objects/domain.js';
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
} from './objects/events.js';
export { type DomainStats, Hypervisor } from './objects/hypervisor.js';
export {
  type DomainCapabilitiesQuery,
  type HypervisorOptions,
  type OpenOptions,
} from './objects/hypervisor-options.js';
export { Interface } from './objects/interface.js';
export { type KeepaliveOptions } from './keepalive.js';
export { type CallOptions, type ConnectedOptions, type LinkState } from './link/link.js';
export { Network, type NetworkDhcpLease } from './objects/network.js';
export { type NodeInfo, type NodeStats } from './objects/node.js';
export {
  type DomainRef,
  type InterfaceRef,
  type NetworkRef,
  type StoragePoolRef,
  type StorageVolumeRef,
} from './protocol/object.js';
export { type Parameters, type ParameterValue } from './protocol/typed-parameter.js';
export { type BackoffOptions } from './link/reconnecting-connection.js';
export { StoragePool, type StoragePoolInfo } from './objects/storage-pool.js';
export { StorageVolume, type StorageVolumeInfo, type StorageVolumeRange } from './objects/storage-volume.js';
export { STREAM_CHUNK_BYTES } from './protocol/message.js';
export { LibvirtStream } from './stream.js';
export { authorityFiles } from './transport/tls-files.js';
export { openSshTunnel } from './transport/ssh-tunnel.js';
export { type LibvirtUri, parseUri } from './uri.js';
