/** Certificates of HTTPS and of image servers: their resources, and signing requests. */
import { removeLeftovers } from '@rackless/daemon/files/replace-file.js';
import type { Feature, FeatureContext } from '../feature.js';
import { tlsFilesOf } from '../reload.js';
import { openStateFile } from '../state-file.js';
import { certificateServiceResources } from './resources/certificate-service.js';
import { driveCertificateResources } from './resources/drive-certificate.js';
import { httpsCertificateResources } from './resources/https-certificate.js';
import type { CertificateServices } from './resources/services.js';
import {
  noRequestedKeys,
  openServerCertificate,
  requestedKeysState,
  type ServerCertificate,
} from './server-certificate.js';

const ownResources = [...httpsCertificateResources, ...certificateServiceResources];

/**
 * The feature `certificates`. Without it, the service still uses the files of the settings for HTTPS.
 */
export const certificates: Feature<CertificateServices> = {
  resources: [...ownResources, ...driveCertificateResources],
  resourcesOf: ({ media }) => (media === undefined ? ownResources : [...ownResources, ...driveCertificateResources]),
  open(context) {
    const serverCertificate = openHttpsCertificate(context);
    return {
      services: { serverCertificate },
      reload: (tls) => {
        if (tls !== undefined) serverCertificate?.adopt(tls);
      },
    };
  },
};

/**
 * Opens the certificate of HTTPS; returns null for plain HTTP.
 * @throws {StateFileError} if the file with the keys of signing requests cannot be read. A damaged file is
 *   renamed.
 */
function openHttpsCertificate(context: FeatureContext): ServerCertificate | null {
  const { tls, settings, setTls, stateDir, services, log } = context;
  const { serviceUuid, now } = services();
  const initialFiles = tlsFilesOf(settings);
  if (tls === undefined || initialFiles === undefined) return null;
  for (const leftover of [initialFiles.sslCert, initialFiles.sslKey].flatMap(removeLeftovers))
    log.warn(`removed ${leftover}, which a killed process left`);
  const state = openStateFile({
    folder: stateDir,
    name: `signing-requests-${serviceUuid}`,
    schema: requestedKeysState,
    initial: noRequestedKeys,
    log,
    broken: 'setAside',
  });
  return openServerCertificate({ tls, files: () => tlsFilesOf(settings) ?? initialFiles, setTls, state, log, now });
}
