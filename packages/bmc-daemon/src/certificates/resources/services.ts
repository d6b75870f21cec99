/** The services that the resources of certificates use, and `defineResource` for these services. */
import type { ServerCertificate } from '../server-certificate.js';
import { resourceDefiner } from '../../redfish/resource.js';
import type { ServicesWith } from '../../resources/services.js';

/** The services of certificates. */
export interface CertificateServices {
  /** Certificate of the HTTPS server; null with plain HTTP. */
  readonly serverCertificate: ServerCertificate | null;
}

/** The services that all resources use, and the services of certificates. */
export type Services = ServicesWith<CertificateServices>;

/** Defines a resource; TypeScript infers its types from its URI, `load` and bodies. */
export const defineResource = resourceDefiner<Services>();
