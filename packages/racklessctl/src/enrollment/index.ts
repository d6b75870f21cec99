/** The list of the formats of enrollment files. */
import { ansible } from './ansible.js';
import { ironic } from './ironic.js';
import { maas } from './maas.js';
import { metal3 } from './metal3.js';
import type { EnrollmentFormat } from './node.js';
import { tinkerbell } from './tinkerbell.js';

/** The formats by the names that `--format` takes. */
export const enrollmentFormats: Readonly<Record<string, EnrollmentFormat>> = {
  ironic,
  metal3,
  maas,
  ansible,
  tinkerbell,
};
